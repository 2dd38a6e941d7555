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

enum { ENTRIES = 5, LONGEST = 16 };

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
enum { PROBE = PATTERNS + ENVELOPES, CANCEL = PROBE + PATTERNS, DISCARD = CANCEL + ENTRIES, CHANGE = DISCARD + ENTRIES, OPERATIONS = CHANGE + ENTRIES };

static mbmatch_t m;
static uint64_t protocol;
static mbmatch_receive_t receives[ENTRIES];
static mbmatch_message_t messages[ENTRIES];
static struct pattern of_receive[ENTRIES], of_message[ENTRIES];
static int posted[ENTRIES], waiting[ENTRIES], posted_count, waiting_count, used;
static int sequence[LONGEST], length;
static unsigned long long ran, reached;

static void need(bool condition, const char *what)
{
	if (condition) {
		return;
	}
	fprintf(stderr, "sequences: %s, after", what);
	for (int k = 0; k < length; k++) {
		fprintf(stderr, " %d", sequence[k]);
	}
	fprintf(stderr, "\n");
	exit(1);
}

static bool fits(const struct pattern *p, const struct pattern *e)
{
	return ((p->bits ^ e->bits) & ~p->ignore) == 0 && (p->source == MBMATCH_ANY_SOURCE || p->source == e->source);
}

static void remove_at(int *queue, int *count, int at)
{
	for (--*count; at < *count; at++) {
		queue[at] = queue[at + 1];
	}
}

static int oldest_message(const struct pattern *p)
{
	int at = 0;
	while (at < waiting_count && !fits(p, &of_message[waiting[at]])) {
		at++;
	}
	return at;
}

static int oldest_receive(const struct pattern *e)
{
	int at = 0;
	while (at < posted_count && !fits(&of_receive[posted[at]], e)) {
		at++;
	}
	return at;
}

/* Whether the operation exists in this state; runs it if so. */
static bool run(int operation)
{
	if (operation < PATTERNS) {
		const struct pattern *p = &patterns[operation];
		const int at = oldest_message(p);
		if (used == ENTRIES) {
			return false;
		}
		const mbmatch_message_t *found = mbmatch_post(&m, &receives[used], p->bits, p->ignore, p->source);
		if (at < waiting_count) {
			need(found == &messages[waiting[at]] && found->entry.next == NULL, "a receive took another message");
			remove_at(waiting, &waiting_count, at);
		} else {
			need(found == NULL, "a receive took a message that does not fit");
			of_receive[used] = *p;
			posted[posted_count++] = used;
		}
		used++;
	} else if (operation < PROBE) {
		const struct pattern *e = &envelopes[operation - PATTERNS];
		const int at = oldest_receive(e);
		if (used == ENTRIES) {
			return false;
		}
		const mbmatch_receive_t *found = mbmatch_arrive(&m, &messages[used], e->bits, e->source);
		if (at < posted_count) {
			need(found == &receives[posted[at]] && found->entry.next == NULL, "a message took another receive");
			remove_at(posted, &posted_count, at);
		} else {
			need(found == NULL, "a message took a receive that does not accept it");
			of_message[used] = *e;
			waiting[waiting_count++] = used;
		}
		used++;
	} else if (operation < CANCEL) {
		const struct pattern *p = &patterns[operation - PROBE];
		const int at = oldest_message(p);
		if (waiting_count < 2) {
			return false;
		}
		need(mbmatch_probe(&m, p->bits, p->ignore, p->source) == (at < waiting_count ? &messages[waiting[at]] : NULL),
		     "a probe found another message");
	} else if (operation < DISCARD) {
		const int at = operation - CANCEL;
		if (at >= posted_count) {
			return false;
		}
		need(mbmatch_cancel(&m, &receives[posted[at]]) == 1, "a receive was not cancelled");
		remove_at(posted, &posted_count, at);
	} else if (operation < CHANGE) {
		const int at = operation - DISCARD;
		if (at >= waiting_count) {
			return false;
		}
		need(mbmatch_discard(&m, &messages[waiting[at]]) == 1, "a message was not discarded");
		remove_at(waiting, &waiting_count, at);
	} else {
		const int at = operation - CHANGE;
		if (at >= waiting_count) {
			return false;
		}
		struct pattern *e = &of_message[waiting[at]];
		e->source ^= 1;
		const int receiver = oldest_receive(e);
		const mbmatch_receive_t *found = mbmatch_change_source(&m, &messages[waiting[at]], e->source);
		need(found == (receiver < posted_count ? &receives[posted[receiver]] : NULL), "a change of source took another receive");
		if (found != NULL) {
			remove_at(posted, &posted_count, receiver);
			remove_at(waiting, &waiting_count, at);
		}
	}
	return true;
}

/* The queues have the entries of the lists, in their order, and the links of both directions agree. */
static void check(void)
{
	const mbmatch_receive_t *r = mbmatch_first_receive(&m);
	for (int k = 0; k < posted_count; k++, r = mbmatch_next_receive(&m, r)) {
		need(r == &receives[posted[k]] && r->entry.prev->next == &r->entry && r->entry.next->prev == &r->entry,
		     "the receives are in another order");
	}
	need(r == NULL && (int) mbmatch_posted(&m) == posted_count, "there is another number of receives");
	const mbmatch_message_t *e = mbmatch_first_message(&m);
	for (int k = 0; k < waiting_count; k++, e = mbmatch_next_message(&m, e)) {
		need(e == &messages[waiting[k]] && e->entry.prev->next == &e->entry && e->entry.next->prev == &e->entry,
		     "the messages are in another order");
	}
	need(e == NULL && (int) mbmatch_unexpected(&m) == waiting_count, "there is another number of messages");
}

/* Runs the sequence so far from the start. */
static bool replay(void)
{
	mbmatch_destroy(&m);
	mbmatch_init(&m, 3, 0, NULL);
	mbmatch_masks(&m, 3, protocol);
	memset(receives, 0xa5, sizeof(receives));
	memset(messages, 0xa5, sizeof(messages));
	posted_count = waiting_count = used = 0;
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

/* A search behind the oldest receive makes an index; receives that are matched in order end it. */
static void check_end(void)
{
	mbmatch_message_t e;
	mbmatch_init(&m, 3, 0, NULL);
	for (int round = 0; round < 2; round++) {
		for (uint64_t k = 0; k < 3; k++) {
			mbmatch_post(&m, &receives[k], k << 8, 0, 0);
		}
		for (uint64_t k = 3; k-- > 0;) {
			need(mbmatch_arrive(&m, &e, k << 8, 0) == &receives[k], "a message took another receive");
		}
	}
	mbmatch_post(&m, &receives[0], 0, 0, 0);
	need(receives[0].entry.state & MBMATCH_INDEXED, "there is no index after searches behind the oldest receive");
	for (int k = 1; k < 8; k++) {
		mbmatch_post(&m, &receives[k % 2], (uint64_t) k << 8, 0, 0);
		mbmatch_arrive(&m, &e, (uint64_t) (k - 1) << 8, 0);
	}
	need(!(receives[1].entry.state & MBMATCH_INDEXED), "the index goes on though receives are matched in order");
	mbmatch_destroy(&m);
}

/* In an index, a message takes the older receive from any source; with MBMATCH_ALLOW_OVERTAKING the one that names it. */
static void check_overtaking(unsigned hints, int expected)
{
	mbmatch_message_t e;
	mbmatch_init(&m, 3, hints, NULL);
	for (int round = 0; round < 2; round++) {
		for (uint64_t k = 0; k < 3; k++) {
			mbmatch_post(&m, &receives[k], k << 8, 0, 0);
		}
		for (uint64_t k = 3; k-- > 0;) {
			mbmatch_arrive(&m, &e, k << 8, 0);
		}
	}
	mbmatch_post(&m, &receives[0], 7 << 8, 0, MBMATCH_ANY_SOURCE);
	mbmatch_post(&m, &receives[1], 7 << 8, 0, 4);
	need(receives[0].entry.state & receives[1].entry.state & MBMATCH_INDEXED, "the receives are not in the index");
	need(mbmatch_arrive(&m, &e, 7 << 8, 4) == &receives[expected], "the hint for overtaking is not what decides");
	mbmatch_destroy(&m);
}

/* Counters with known values: three receives, a message for the third, one for none, a probe for it. */
static void check_counters(void)
{
	mbmatch_counters_t c = {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};
	mbmatch_init(&m, 3, 0, NULL);
	mbmatch_count(&m, &c);
	for (uint64_t k = 0; k < 3; k++) {
		mbmatch_post(&m, &receives[k], k << 8, 0, 0);
	}
	mbmatch_arrive(&m, &messages[0], 2 << 8, 0);
	mbmatch_arrive(&m, &messages[1], 9 << 8, 0);
	mbmatch_probe(&m, 9 << 8, 0, 0);
	need(c.posted.appended == 3 && c.posted.longest == 3, "the appended receives are counted wrongly");
	need(c.posted.searches == 2 && c.posted.compared == 3 + 2 && c.posted.longest_search == 3,
	     "the searches of the receives are counted wrongly");
	need(c.unexpected.appended == 1 && c.unexpected.longest == 1, "the appended messages are counted wrongly");
	need(c.unexpected.searches == 4 && c.unexpected.compared == 1 && c.unexpected.longest_search == 1,
	     "the searches of the messages are counted wrongly");
	mbmatch_count(&m, NULL);
	mbmatch_post(&m, &receives[2], 5 << 8, 0, 0);
	need(c.posted.appended == 3, "counters that are off count");
	mbmatch_destroy(&m);
}

int main(int argc, char **argv)
{
	const int longest = argc == 2 ? atoi(argv[1]) : 0;
	if (longest < 1 || longest > LONGEST) {
		fprintf(stderr, "usage: sequences LENGTH, from 1 to %d\n", LONGEST);
		return 2;
	}
	check_end();
	check_overtaking(0, 0);
	check_overtaking(MBMATCH_ALLOW_OVERTAKING, 1);
	check_counters();
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
