/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every sequence of operations of a given length with at most five entries, beside two lists that are searched one by
 * one. It is compiled with limits so small that these entries reach indexes, their growth and their end. `sequences
 * LENGTH`: exits with 1 and the sequence at the first difference.
 */
#define MBMATCH_SHORT 0
#define MBMATCH_DEBT 1
#define MBMATCH_WARM 2
#define MBMATCH_FIRST_BUCKETS 2
#include "../mbmatch.c"

enum { NODES = 5, LONGEST = 16 };
#include "reference.h"

struct pattern {
	uint64_t bits, ignore;
	uint32_t source;
};

/* Exact in two keys, the three wildcards of MPI, and another mask. */
static const struct pattern patterns[] = {
    {1, 0, 0}, {2, 0, 1}, {1, 0, MBMATCH_ANY_SOURCE}, {0, 3, 1}, {0, 3, MBMATCH_ANY_SOURCE}, {0, 2, MBMATCH_ANY_SOURCE},
};
static const struct pattern envelopes[] = {{1, 0, 0}, {2, 0, 1}, {1, 0, 1}};
enum { PATTERNS = sizeof(patterns) / sizeof(patterns[0]), ENVELOPES = sizeof(envelopes) / sizeof(envelopes[0]) };
/* An operation is a number: posts, arrivals, probes, then cancels, discards and changes of source by place. */
enum { PROBE = PATTERNS + ENVELOPES, CANCEL = PROBE + PATTERNS, DISCARD = CANCEL + NODES, CHANGE = DISCARD + NODES, OPERATIONS = CHANGE + NODES };

static int sequence[LONGEST], length;
static uint64_t protocol;
static unsigned long long ran, reached;

static void differs(const char *what)
{
	fprintf(stderr, "sequences: %s, after", what);
	for (int k = 0; k < length; k++) {
		fprintf(stderr, " %d", sequence[k]);
	}
	fprintf(stderr, "\n");
	exit(1);
}

/* Whether the operation exists in this state; runs it if so. */
static bool run(int operation)
{
	if (operation < PROBE && idle_count == 0) {
		return false;
	}
	if (operation < PATTERNS) {
		const struct pattern *p = &patterns[operation];
		post_receive(p->bits, p->ignore, p->source, 0);
	} else if (operation < PROBE) {
		const struct pattern *e = &envelopes[operation - PATTERNS];
		if (length % 2 == 0) {
			/* A search changes indexes: in sequences of odd length there is no second one. */
			find_receive(e->bits, e->source);
		}
		arrive_message(e->bits, e->source, 0);
	} else if (operation < CANCEL) {
		const struct pattern *p = &patterns[operation - PROBE];
		if (waiting.count < 2) {
			return false;
		}
		probe_message(p->bits, p->ignore, p->source);
	} else {
		const size_t at = (size_t) (operation - CANCEL) % NODES;
		if (at >= (operation < DISCARD ? posted.count : waiting.count)) {
			return false;
		}
		if (operation < DISCARD) {
			cancel_receive(at);
		} else if (operation < CHANGE) {
			discard_message(at);
		} else {
			change_source(at, place_at(&waiting, at)->source ^ 1);
		}
	}
	return true;
}

/* Runs the sequence so far from the start. */
static bool replay(void)
{
	mbmatch_destroy(&m);
	begin(3, protocol, 0, NULL);
	count_into(sequence[0] & 1);
	for (int k = 0; k < length; k++) {
		if (!run(sequence[k])) {
			return false;
		}
	}
	return true;
}

static void extend(int longest)
{
	for (int operation = 0; operation < OPERATIONS; operation++) {
		sequence[length++] = operation;
		if (replay()) {
			check();
			ran++;
			reached += m.indexes != NULL && (m.indexes->of[RECEIVES].table != NULL || m.indexed_kinds != 0);
			if (length < longest) {
				extend(longest);
			}
		}
		length--;
	}
}

/* Posts and messages that make an index of receives. */
static void begin_indexed(unsigned hints)
{
	begin(3, 0, hints, NULL);
	for (int round = 0; round < 2; round++) {
		for (uint64_t k = 0; k < 3; k++) {
			post_receive(k << 8, 0, 0, 0);
		}
		for (uint64_t k = 3; k-- > 0;) {
			arrive_message(k << 8, 0, 0);
		}
	}
}

/* A search behind the oldest receive makes an index; receives that are matched in order end it. */
static void check_end(void)
{
	begin_indexed(0);
	post_receive(0, 0, 0, 0);
	need(place_at(&posted, 0)->receive.entry.state & MBMATCH_INDEXED, "there is no index after searches behind the oldest receive");
	for (uint64_t k = 1; k < 8; k++) {
		post_receive(k << 8, 0, 0, 0);
		arrive_message((k - 1) << 8, 0, 0);
	}
	need(!(place_at(&posted, 0)->receive.entry.state & MBMATCH_INDEXED), "the index goes on though receives are matched in order");
	finish();
}

/* In an index, a message takes the older receive from any source; with MBMATCH_ALLOW_OVERTAKING the one that names it. */
static void check_overtaking(unsigned hints, size_t left)
{
	begin_indexed(hints);
	post_receive(7 << 8, 0, MBMATCH_ANY_SOURCE, 0);
	post_receive(7 << 8, 0, 4, 0);
	need(mbmatch_memory(&m) > 0 && place_at(&posted, 1)->receive.entry.state & MBMATCH_INDEXED, "the receives are not in the index");
	const struct place *stays = place_at(&posted, left);
	arrive_message(7 << 8, 4, 0);
	need(place_at(&posted, 0) == stays, "the hint for overtaking is not what decides");
	finish();
}

int main(int argc, char **argv)
{
	const int longest = argc == 2 ? atoi(argv[1]) : 0;
	if (longest < 1 || longest > LONGEST) {
		fprintf(stderr, "usage: sequences LENGTH, from 1 to %d\n", LONGEST);
		return 2;
	}
	check_end();
	check_overtaking(0, 1);
	check_overtaking(MBMATCH_ALLOW_OVERTAKING, 0);
	mbmatch_init(&m, 3, 0, NULL);
	extend(longest);
	/* With protocol bits, keys differ in fewer bits, or in none. */
	for (protocol = 2; protocol <= 3; protocol++) {
		extend(longest > 1 ? longest - 1 : 1);
	}
	mbmatch_destroy(&m);
	printf("%llu sequences, %llu with a table: no difference\n", ran, reached);
	return reached > 0 ? 0 : 1;
}
