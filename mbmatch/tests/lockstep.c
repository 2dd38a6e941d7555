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

/* An entry of the reference: a node, or of a free place the number of the next one. */
struct place {
	mbmatch_receive_t receive;
	mbmatch_message_t message;
	uint64_t bits, ignore;
	uint32_t source;
	int stays;
};

static struct place places[NODES];
/* Numbers of places: the queues, oldest first, and the free ones. */
static uint32_t posted[NODES], waiting[NODES], idle[NODES];
static size_t posted_count, waiting_count, idle_count;

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

static void need(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "lockstep: %s, in operation %" PRIu64 " of seed %" PRIu64 "\n", what, operation, seed);
		exit(1);
	}
}

static int failing;
static size_t allocated;

static void *allocate(void *context, size_t bytes)
{
	(void) context;
	if (failing == 2 || (failing == 1 && below(2) == 0)) {
		return NULL;
	}
	allocated += bytes;
	return calloc(1, bytes);
}

static void release(void *context, void *memory, size_t bytes)
{
	(void) context;
	allocated -= bytes;
	free(memory);
}

static const mbmatch_allocator_t allocator = {allocate, release, NULL};

static int accepts(uint64_t bits, uint64_t ignore, uint32_t source, uint64_t of_bits, uint32_t of_source)
{
	return ((bits ^ of_bits) & ~ignore) == 0 && (source == MBMATCH_ANY_SOURCE || source == of_source);
}

static void remove_at(uint32_t *queue, size_t *count, size_t at)
{
	idle[idle_count++] = queue[at];
	memmove(queue + at, queue + at + 1, (--*count - at) * sizeof(*queue));
}

/* Where the oldest receive is that accepts a message; or posted_count. */
static size_t oldest_receive(uint64_t bits, uint32_t source)
{
	size_t at = 0;
	while (at < posted_count && !accepts(places[posted[at]].bits, places[posted[at]].ignore, places[posted[at]].source, bits, source)) {
		at++;
	}
	return at;
}

static size_t oldest_message(uint64_t bits, uint64_t ignore, uint32_t source)
{
	size_t at = 0;
	while (at < waiting_count && !accepts(bits, ignore, source, places[waiting[at]].bits, places[waiting[at]].source)) {
		at++;
	}
	return at;
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

static void match_message(mbmatch_t *m, const mbmatch_message_t *found, size_t at)
{
	(void) m;
	if (at == waiting_count) {
		need(found == NULL, "a message was matched though none fits");
	} else {
		need(found == &places[waiting[at]].message, "another message than the oldest was matched");
	}
}

static void match_receive(const mbmatch_receive_t *found, size_t at)
{
	if (at == posted_count) {
		need(found == NULL, "a receive was matched though none fits");
		return;
	}
	struct place *place = &places[posted[at]];
	need(found == &place->receive, "another receive than the oldest was matched");
	need(mbmatch_is_posted(found) == place->stays, "a matched receive is queued, or one that stays is not");
	if (!place->stays) {
		memset(&place->receive, 0xa5, sizeof(place->receive));
		remove_at(posted, &posted_count, at);
	}
}

static void check_order(const mbmatch_t *m)
{
	size_t at = 0;
	for (const mbmatch_receive_t *r = mbmatch_first_receive(m); r != NULL; r = mbmatch_next_receive(m, r)) {
		need(at < posted_count && r == &places[posted[at++]].receive, "the receives are in another order");
	}
	need(at == posted_count && mbmatch_posted(m) == at, "a receive is missing");
	at = 0;
	for (const mbmatch_message_t *e = mbmatch_first_message(m); e != NULL; e = mbmatch_next_message(m, e)) {
		need(at < waiting_count && e == &places[waiting[at++]].message, "the messages are in another order");
	}
	need(at == waiting_count && mbmatch_unexpected(m) == at, "a message is missing");
}

/* Pattern of the removal that runs; entries that `removed` was called with. */
static size_t removals;

static void removed_receive(void *context, mbmatch_receive_t *r)
{
	size_t at = 0;
	(void) context;
	while (at < posted_count && r != &places[posted[at]].receive) {
		at++;
	}
	need(at < posted_count, "a removed receive was not posted");
	remove_at(posted, &posted_count, at);
	removals++;
}

static void removed_message(void *context, mbmatch_message_t *e)
{
	size_t at = 0;
	(void) context;
	while (at < waiting_count && e != &places[waiting[at]].message) {
		at++;
	}
	need(at < waiting_count, "a removed message was not queued");
	remove_at(waiting, &waiting_count, at);
	removals++;
}

static void remove_some(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source)
{
	size_t expected = 0;
	removals = 0;
	if (below(2)) {
		for (size_t at = 0; at < posted_count; at++) {
			const struct place *p = &places[posted[at]];
			expected += (p->ignore & ~ignore) == 0 && ((p->bits ^ bits) & ~ignore) == 0 &&
			            (source == MBMATCH_ANY_SOURCE || p->source == source);
		}
		need(mbmatch_remove_receives(m, bits, ignore, source, removed_receive, NULL) == expected && removals == expected,
		     "another number of receives was removed");
	} else {
		for (size_t at = 0; at < waiting_count; at++) {
			expected += accepts(bits, ignore, source, places[waiting[at]].bits, places[waiting[at]].source) ||
			            (source == MBMATCH_ANY_SOURCE && accepts(bits, ignore, source, places[waiting[at]].bits, 0));
		}
		need(mbmatch_remove_messages(m, bits, ignore, source, removed_message, NULL) == expected && removals == expected,
		     "another number of messages was removed");
	}
}

static void step(mbmatch_t *m, const struct phase *p)
{
	uint64_t kind = below(p->total), bits, ignore;
	uint32_t source;
	int what = 0;
	while (kind >= p->weight[what]) {
		kind -= p->weight[what++];
	}
	key_of(p, &bits, &source);
	if (what == 0 || what == 4 || what == 5 || what == 7) {
		if (waiting_count > 0 && below(100) < p->targeted) {
			const struct place *target = &places[waiting[below(waiting_count)]];
			bits = target->bits;
			source = target->source;
		}
		pattern_of(p, &bits, &ignore, &source);
		if (what == 7) {
			remove_some(m, bits, ignore, source);
			return;
		}
		size_t at = oldest_message(bits, ignore, source);
		if (what == 4) {
			match_message(m, mbmatch_probe(m, bits, ignore, source), at);
			return;
		}
		if (what == 5 || posted_count >= p->longest) {
			match_message(m, mbmatch_take_message(m, bits, ignore, source), at);
		} else {
			struct place *place = &places[idle[idle_count - 1]];
			place->stays = 0;
			if (p->halves) {
				mbmatch_message_t *found = mbmatch_take_message(m, bits, ignore, source);
				match_message(m, found, at);
				if (found == NULL) {
					mbmatch_queue_receive(m, &place->receive, bits, ignore, source);
				}
			} else {
				match_message(m, mbmatch_post(m, &place->receive, bits, ignore, source), at);
			}
			if (at == waiting_count) {
				place->bits = bits;
				place->ignore = ignore;
				place->source = source;
				posted[posted_count++] = idle[--idle_count];
				if (below(50) == 0) {
					place->stays = 1;
					mbmatch_stay(&place->receive);
				}
			}
		}
		if (at < waiting_count) {
			need(!mbmatch_is_unexpected(&places[waiting[at]].message), "a matched message is queued");
			memset(&places[waiting[at]].message, 0x5a, sizeof(places[0].message));
			remove_at(waiting, &waiting_count, at);
		}
	} else if (what == 1) {
		if (posted_count > 0 && below(100) < p->targeted) {
			const struct place *target = &places[posted[below(posted_count)]];
			bits = target->bits;
			source = target->source == MBMATCH_ANY_SOURCE ? source : target->source;
		}
		if (below(100) < p->unknown) {
			source = MBMATCH_UNKNOWN_SOURCE;
		}
		size_t at = oldest_receive(bits, source);
		uint32_t number = idle[idle_count - 1];
		struct place *place = &places[number];
		if (waiting_count >= p->longest && at == posted_count) {
			mbmatch_limit(m, (uint32_t) waiting_count);
			match_receive(mbmatch_arrive(m, &place->message, bits, source), at);
			need(!mbmatch_is_unexpected(&place->message), "a message was queued beyond the limit");
			mbmatch_limit(m, UINT32_MAX);
			return;
		}
		mbmatch_receive_t *found = p->halves ? mbmatch_take_receive(m, bits, source) : mbmatch_arrive(m, &place->message, bits, source);
		if (p->halves && found == NULL) {
			need(mbmatch_queue_message(m, &place->message, bits, source), "a message was refused");
		}
		if (at == posted_count) {
			idle_count--;
			place->bits = bits;
			place->source = source;
			need(found == NULL, "a receive was matched though none fits");
			waiting[waiting_count++] = number;
		} else {
			match_receive(found, at);
		}
	} else if (what == 2 && posted_count > 0) {
		size_t at = below(posted_count);
		struct place *place = &places[posted[at]];
		need(mbmatch_cancel(m, &place->receive) == 1, "a posted receive was not cancelled");
		need(mbmatch_cancel(m, &place->receive) == 0, "a receive was cancelled twice");
		remove_at(posted, &posted_count, at);
	} else if (what == 3 && waiting_count > 0) {
		size_t at = below(waiting_count);
		struct place *place = &places[waiting[at]];
		need(mbmatch_discard(m, &place->message) == 1, "a message was not discarded");
		need(mbmatch_discard(m, &place->message) == 0, "a message was discarded twice");
		remove_at(waiting, &waiting_count, at);
	} else if (what == 6 && waiting_count > 0) {
		size_t at = below(waiting_count);
		struct place *place = &places[waiting[at]];
		size_t receiver = oldest_receive(place->bits, source);
		const mbmatch_receive_t *found = mbmatch_change_source(m, &place->message, source);
		match_receive(found, receiver);
		place->source = source;
		if (found != NULL) {
			need(!mbmatch_is_unexpected(&place->message), "a matched message is queued");
			remove_at(waiting, &waiting_count, at);
		}
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
	for (uint32_t k = 0; k < NODES; k++) {
		idle[idle_count++] = k;
	}
	size_t deepest = 0, indexed = 0;
	while (operation < operations) {
		mbmatch_t m;
		mbmatch_counters_t counters = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};
		failing = (int) below(8) < 6 ? 0 : (int) below(2) + 1;
		mbmatch_init(&m, TAG_MASK, 0, below(4) ? &allocator : NULL);
		protocol = below(2) ? PROTOCOL : 0;
		mbmatch_masks(&m, TAG_MASK, protocol);
		if (below(4) == 0) {
			mbmatch_count(&m, &counters);
		}
		for (uint64_t phases = 1 + below(6); phases > 0; phases--) {
			const struct phase p = random_phase();
			for (uint64_t n = 1 + below(4 * p.longest); n > 0; n--) {
				operation++;
				step(&m, &p);
				if (below(256) == 0) {
					check_order(&m);
				}
				deepest = posted_count + waiting_count > deepest ? posted_count + waiting_count : deepest;
			}
			check_order(&m);
			indexed += mbmatch_memory(&m) > 0;
			mbmatch_trim(&m);
		}
		mbmatch_destroy(&m);
		need(allocated == 0, "memory of the matcher is left");
		while (posted_count > 0) {
			remove_at(posted, &posted_count, posted_count - 1);
		}
		while (waiting_count > 0) {
			remove_at(waiting, &waiting_count, waiting_count - 1);
		}
	}
	printf("%" PRIu64 " operations, %zu entries at once, %zu phases with a table: no difference\n", operation, deepest, indexed);
	return indexed > 0 ? 0 : 1;
}
