/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Random operations on a matcher beside two lists that are searched one by one. `lockstep OPERATIONS [SEED]`: exits with
 * 1 and the seed at the first difference. Each phase draws its own mix, keys, wildcards, allocator and depth, so that
 * queues are short and deep, indexes begin and stop, tables grow and cannot grow.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mbmatch.h"

#define TAG_MASK UINT64_C(0xffffffff)
#define PROTOCOL UINT64_C(0x6000000000000001)

/* Protocol bits of the matcher, which half of the patterns ignore. */
static uint64_t protocol;
enum { NODES = 1 << 14 };
#include "reference.h"

static uint64_t state, seed;

static uint64_t random_number(void)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = state;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t below(uint64_t bound)
{
	return random_number() % bound;
}

static uint64_t operation;

static void differs(const char *what)
{
	fprintf(stderr, "lockstep: %s, in operation %" PRIu64 " of seed %" PRIu64 "\n", what, operation, seed);
	exit(1);
}

struct phase {
	uint64_t weight[8]; /* post, arrive, cancel, discard, probe, matched probe, change of source, removal */
	uint64_t total, tags, sources, stride, wildcards, masked, unknown, targeted, longest;
	int halves;
};

static uint64_t pick(const uint64_t *from, size_t count)
{
	return from[below(count)];
}
#define PICK(...) pick((const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static struct phase random_phase(void)
{
	static const uint64_t weights[][8] = {
	    {45, 45, 3, 1, 4, 2, 1, 0}, {92, 5, 1, 0, 1, 1, 0, 0},   {5, 92, 0, 1, 1, 1, 1, 0}, {10, 30, 58, 0, 1, 1, 0, 0},
	    {30, 10, 0, 55, 3, 2, 0, 0}, {20, 20, 10, 10, 30, 10, 5, 1}, {49, 51, 0, 0, 0, 0, 0, 0}, {51, 49, 0, 0, 0, 0, 0, 0},
	};
	struct phase p = {
	    .tags = PICK(1, 2, 3, 8, 100, 1 << 20),
	    .sources = PICK(1, 1, 2, 5, 64),
	    .stride = PICK(1, 1, 1 << 16, UINT64_C(1) << 33),
	    .wildcards = PICK(0, 0, 1, 30, 100),
	    .masked = PICK(0, 0, 0, 2, 30),
	    .unknown = PICK(0, 0, 5, 60),
	    .targeted = PICK(0, 0, 20, 90),
	    .longest = PICK(8, 40, 300, 2000),
	    .halves = (int) below(2),
	};
	memcpy(p.weight, weights[below(8)], sizeof(p.weight));
	for (int k = 0; k < 8; k++) {
		p.total += p.weight[k];
	}
	return p;
}

static void pattern_of(const struct phase *p, uint64_t *bits, uint64_t *ignore, uint32_t *source)
{
	uint64_t kind = below(100);
	*ignore = below(2) ? protocol : 0;
	if (*source == MBMATCH_UNKNOWN_SOURCE) {
		*source = below(2) ? MBMATCH_ANY_SOURCE : (uint32_t) below(p->sources);
	}
	if (kind < p->wildcards) {
		kind = below(3) + 1;
		*source = kind & 1 ? MBMATCH_ANY_SOURCE : *source;
		*ignore |= kind & 2 ? TAG_MASK & ~protocol : 0;
		*bits ^= random_number() & *ignore;
	} else if (kind < p->wildcards + p->masked) {
		*ignore = below(4) ? random_number() & random_number() & random_number() : UINT64_MAX;
		*source = below(2) ? MBMATCH_ANY_SOURCE : *source;
	}
}

static void key_of(const struct phase *p, uint64_t *bits, uint32_t *source)
{
	*bits = below(2) << 40 ^ below(p->tags) * p->stride ^ (random_number() & protocol);
	*source = (uint32_t) below(p->sources);
}

static void step(const struct phase *p)
{
	uint64_t kind = below(p->total), bits, ignore;
	uint32_t source;
	int what = 0;
	while (kind >= p->weight[what]) {
		kind -= p->weight[what++];
	}
	key_of(p, &bits, &source);
	if (what == 0 || what == 4 || what == 5 || what == 7) {
		if (waiting.count > 0 && below(100) < p->targeted) {
			const struct place *target = place_at(&waiting, below(waiting.count));
			bits = target->bits;
			source = target->source;
		}
		pattern_of(p, &bits, &ignore, &source);
		if (what == 7) {
			remove_entries(below(2) ? &posted : &waiting, bits, ignore, source, (int) below(2));
		} else if (what == 4) {
			probe_message(bits, ignore, source);
		} else if (what == 5 || posted.count >= p->longest) {
			take_message(bits, ignore, source);
		} else {
			const size_t before = posted.count;
			post_receive(bits, ignore, source, p->halves);
			if (posted.count > before && below(50) == 0) {
				stay_receive(before);
			}
		}
	} else if (what == 1) {
		if (posted.count > 0 && below(100) < p->targeted) {
			const struct place *target = place_at(&posted, below(posted.count));
			bits = target->bits;
			source = target->source == MBMATCH_ANY_SOURCE ? source : target->source;
		}
		if (below(100) < p->unknown) {
			source = MBMATCH_UNKNOWN_SOURCE;
		}
		if (below(8) == 0) {
			find_receive(bits, source);
		}
		mbmatch_limit(&m, (uint32_t) p->longest);
		arrive_message(bits, source, p->halves);
	} else if (what == 2 && posted.count > 0) {
		cancel_receive(below(posted.count));
	} else if (what == 3 && waiting.count > 0) {
		discard_message(below(waiting.count));
	} else if (what == 6 && waiting.count > 0) {
		change_source(below(waiting.count), source);
	}
}

int main(int argc, char **argv)
{
	char *end = NULL;
	const uint64_t operations = argc > 1 ? strtoull(argv[1], &end, 10) : 0;
	if (argc < 2 || argc > 3 || *end != '\0' || operations == 0) {
		fprintf(stderr, "usage: lockstep OPERATIONS [SEED]; found %d arguments\n", argc - 1);
		return 2;
	}
	seed = state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	size_t deepest = 0, indexed = 0;
	while (operation < operations) {
		protocol = below(2) ? PROTOCOL : 0;
		begin(TAG_MASK, protocol, below(16) == 0 ? MBMATCH_ALLOW_OVERTAKING : 0, below(4) ? &tested_allocator : NULL);
		failing = (uint8_t) (below(8) < 6 ? 0 : below(2) ? random_number() : 0xff);
		count_into(below(4) == 0);
		for (uint64_t phases = 1 + below(6); phases > 0; phases--) {
			const struct phase p = random_phase();
			for (uint64_t n = 1 + below(4 * p.longest); n > 0; n--) {
				operation++;
				step(&p);
				if (below(256) == 0) {
					check();
				}
				deepest = posted.count + waiting.count > deepest ? posted.count + waiting.count : deepest;
			}
			check();
			indexed += mbmatch_memory(&m) > 0;
			mbmatch_trim(&m);
		}
		finish();
	}
	printf("%" PRIu64 " operations, %zu entries at once, %zu phases with a table: no difference\n", operation, deepest, indexed);
	return indexed > 0 ? 0 : 1;
}
