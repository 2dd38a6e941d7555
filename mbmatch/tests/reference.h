/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two lists that are searched one by one, and every operation of a matcher judged by them. The program defines NODES,
 * the most entries at once, includes mbmatch.h or mbmatch.c, and has `differs`, which ends it and says what is wrong.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void differs(const char *what);

static void need(int condition, const char *what)
{
	if (!condition) {
		differs(what);
	}
}

/* A receive, a message, or free: `bits`, `ignore`, `source` and `stays` are the reference's, the nodes the matcher's. */
struct place {
	mbmatch_receive_t receive;
	mbmatch_message_t message;
	uint64_t bits, ignore;
	uint32_t source;
	int stays;
};

/* Numbers of places, oldest first. */
struct list {
	uint32_t place[NODES];
	size_t count;
};

static mbmatch_t m;
static struct place places[NODES];
static struct list posted, waiting;
static uint32_t idle[NODES];
static size_t idle_count;
static mbmatch_counters_t counters, expected;

/* Bit k: an allocation fails, the next but k. The bits are used in turn. */
static uint8_t failing;
static size_t allocated;

static inline void *tested_allocate(void *context, size_t bytes)
{
	(void) context;
	failing = (uint8_t) (failing >> 1 | failing << 7);
	if (failing & 0x80) {
		return NULL;
	}
	allocated += bytes;
	return calloc(1, bytes);
}

static inline void tested_release(void *context, void *memory, size_t bytes)
{
	(void) context;
	allocated -= bytes;
	free(memory);
}

static const mbmatch_allocator_t tested_allocator = {tested_allocate, tested_release, NULL};

static void begin(uint64_t tag_mask, uint64_t protocol, unsigned hints, const mbmatch_allocator_t *allocator)
{
	for (idle_count = 0; idle_count < NODES; idle_count++) {
		idle[idle_count] = (uint32_t) idle_count;
	}
	posted.count = waiting.count = 0;
	failing = 0;
	mbmatch_init(&m, tag_mask, hints, allocator);
	if (protocol != 0) {
		mbmatch_masks(&m, tag_mask, protocol);
	}
	need(mbmatch_version() == MBMATCH_VERSION, "the header and the source have different versions");
}

static inline void finish(void)
{
	mbmatch_destroy(&m);
	need(allocated == 0, "memory of the matcher is left");
}

static struct place *place_at(const struct list *list, size_t at)
{
	return &places[list->place[at]];
}

static struct place *spare(void)
{
	return &places[idle[idle_count - 1]];
}

static int accepts(uint64_t bits, uint64_t ignore, uint32_t source, uint64_t of_bits, uint32_t of_source)
{
	return ((bits ^ of_bits) & ~ignore) == 0 && (source == MBMATCH_ANY_SOURCE || source == of_source);
}

/* Where the oldest receive is that accepts a message, from `at` on; or their number. */
static size_t oldest_receive(size_t at, uint64_t bits, uint32_t source)
{
	for (; at < posted.count; at++) {
		const struct place *p = place_at(&posted, at);
		if (accepts(p->bits, p->ignore, p->source, bits, source)) {
			break;
		}
	}
	return at;
}

static size_t oldest_message(uint64_t bits, uint64_t ignore, uint32_t source)
{
	size_t at = 0;
	while (at < waiting.count &&
	       !accepts(bits, ignore, source, place_at(&waiting, at)->bits, place_at(&waiting, at)->source)) {
		at++;
	}
	return at;
}

static void append_spare(struct list *list, mbmatch_queue_counters_t *c)
{
	list->place[list->count++] = idle[--idle_count];
	if (m.counters != NULL) {
		c->appended++;
		c->longest = list->count > c->longest ? list->count : c->longest;
	}
}

/* A search that finds the entry at `at`, or none. */
static void expect_search(const struct list *list, size_t at, mbmatch_queue_counters_t *c)
{
	const uint64_t compared = at < list->count ? at + 1 : at;
	if (m.counters != NULL) {
		c->searches++;
		c->compared += compared;
		c->longest_search = compared > c->longest_search ? compared : c->longest_search;
	}
}

/* The caller frees the nodes. */
static void remove_at(struct list *list, size_t at)
{
	struct place *p = place_at(list, at);
	need(!(list == &posted ? mbmatch_is_posted(&p->receive) : mbmatch_is_unexpected(&p->message)),
	     "a node that has left its queue is queued");
	memset(&p->receive, 0xa5, sizeof(p->receive));
	memset(&p->message, 0x5a, sizeof(p->message));
	idle[idle_count++] = list->place[at];
	list->count--;
	memmove(list->place + at, list->place + at + 1, (list->count - at) * sizeof(*list->place));
}

/* `found` is what a message took that first fits the receive at `at`. Returns whether it took one. */
static int judge_receive(const mbmatch_receive_t *found, size_t at, uint64_t bits, uint32_t source)
{
	expect_search(&posted, at, &expected.posted);
	if (found == NULL) {
		need(at == posted.count, "no receive was matched though one fits");
		return 0;
	}
	while (m.hints & MBMATCH_ALLOW_OVERTAKING && at < posted.count && found != &place_at(&posted, at)->receive) {
		at = oldest_receive(at + 1, bits, source);
	}
	need(at < posted.count && found == &place_at(&posted, at)->receive, "another receive than the oldest was matched");
	if (place_at(&posted, at)->stays) {
		need(mbmatch_is_posted(found), "a receive that stays has left");
	} else {
		remove_at(&posted, at);
	}
	return 1;
}

static inline void find_receive(uint64_t bits, uint32_t source)
{
	const mbmatch_receive_t *found = mbmatch_find_receive(&m, bits, source);
	size_t at = oldest_receive(0, bits, source);
	expect_search(&posted, at, &expected.posted);
	while (m.hints & MBMATCH_ALLOW_OVERTAKING && at < posted.count && found != &place_at(&posted, at)->receive) {
		at = oldest_receive(at + 1, bits, source);
	}
	need(found == (at < posted.count ? &place_at(&posted, at)->receive : NULL), "another receive than the oldest was found");
}

static void judge_message(const mbmatch_message_t *found, size_t at)
{
	need(found == (at < waiting.count ? &place_at(&waiting, at)->message : NULL), "another message than the oldest was matched");
	expect_search(&waiting, at, &expected.unexpected);
}

static inline void probe_message(uint64_t bits, uint64_t ignore, uint32_t source)
{
	judge_message(mbmatch_probe(&m, bits, ignore, source), oldest_message(bits, ignore, source));
}

static inline void take_message(uint64_t bits, uint64_t ignore, uint32_t source)
{
	const size_t at = oldest_message(bits, ignore, source);
	judge_message(mbmatch_take_message(&m, bits, ignore, source), at);
	if (at < waiting.count) {
		remove_at(&waiting, at);
	}
}

/* Needs a spare place, as arrive_message does. */
static void post_receive(uint64_t bits, uint64_t ignore, uint32_t source, int halves)
{
	const size_t at = oldest_message(bits, ignore, source);
	struct place *p = spare();
	if (halves) {
		judge_message(mbmatch_take_message(&m, bits, ignore, source), at);
		if (at == waiting.count) {
			mbmatch_queue_receive(&m, &p->receive, bits, ignore, source);
		}
	} else {
		judge_message(mbmatch_post(&m, &p->receive, bits, ignore, source), at);
		need(mbmatch_is_posted(&p->receive) == (at == waiting.count), "a receive that matched at once is queued, or one that waits is not");
	}
	if (at < waiting.count) {
		remove_at(&waiting, at);
		return;
	}
	p->bits = bits;
	p->ignore = ignore;
	p->source = source;
	p->stays = 0;
	append_spare(&posted, &expected.posted);
}

static void arrive_message(uint64_t bits, uint32_t source, int halves)
{
	const size_t at = oldest_receive(0, bits, source);
	const int fits = waiting.count < m.limit;
	struct place *p = spare();
	if (judge_receive(halves ? mbmatch_take_receive(&m, bits, source) : mbmatch_arrive(&m, &p->message, bits, source), at, bits, source)) {
		need(halves || !mbmatch_is_unexpected(&p->message), "a message that matched at once is queued");
		return;
	}
	if (halves) {
		need(mbmatch_queue_message(&m, &p->message, bits, source) == fits, "the limit does not decide whether a message is queued");
	}
	need(mbmatch_is_unexpected(&p->message) == fits, "a message is queued beyond the limit, or none below");
	if (fits) {
		p->bits = bits;
		p->ignore = 0;
		p->source = source;
		append_spare(&waiting, &expected.unexpected);
	}
}

static inline void stay_receive(size_t at)
{
	place_at(&posted, at)->stays = 1;
	mbmatch_stay(&place_at(&posted, at)->receive);
}

static void cancel_receive(size_t at)
{
	mbmatch_receive_t *r = &place_at(&posted, at)->receive;
	need(mbmatch_cancel(&m, r) == 1 && mbmatch_cancel(&m, r) == 0, "a receive was not cancelled, or twice");
	remove_at(&posted, at);
}

static void discard_message(size_t at)
{
	mbmatch_message_t *e = &place_at(&waiting, at)->message;
	need(mbmatch_discard(&m, e) == 1 && mbmatch_discard(&m, e) == 0, "a message was not discarded, or twice");
	remove_at(&waiting, at);
}

static void change_source(size_t at, uint32_t source)
{
	struct place *p = place_at(&waiting, at);
	const size_t receiver = oldest_receive(0, p->bits, source);
	p->source = source;
	if (judge_receive(mbmatch_change_source(&m, &p->message, source), receiver, p->bits, source)) {
		remove_at(&waiting, at);
	}
}

/* The pattern of a removal, and how many entries have left. */
static struct place removal;
static size_t removals;

static inline size_t oldest_removed(const struct list *list)
{
	size_t at = 0;
	while (at < list->count && ((place_at(list, at)->ignore & ~removal.ignore) != 0 ||
	                            !accepts(removal.bits, removal.ignore, removal.source, place_at(list, at)->bits, place_at(list, at)->source))) {
		at++;
	}
	return at;
}

static inline void removed_receive(void *context, mbmatch_receive_t *r)
{
	const size_t at = oldest_removed(&posted);
	need(context == &removal && at < posted.count && r == &place_at(&posted, at)->receive, "another receive was removed than the next");
	remove_at(&posted, at);
	removals++;
}

static inline void removed_message(void *context, mbmatch_message_t *e)
{
	const size_t at = oldest_removed(&waiting);
	need(context == &removal && at < waiting.count && e == &place_at(&waiting, at)->message, "another message was removed than the next");
	remove_at(&waiting, at);
	removals++;
}

/* `named`: the matcher calls with each entry. */
static inline void remove_entries(struct list *list, uint64_t bits, uint64_t ignore, uint32_t source, int named)
{
	removal.bits = bits;
	removal.ignore = ignore;
	removal.source = source;
	removals = 0;
	const size_t count =
	    list == &posted ? mbmatch_remove_receives(&m, bits, ignore, source, named ? removed_receive : NULL, &removal)
	                    : mbmatch_remove_messages(&m, bits, ignore, source, named ? removed_message : NULL, &removal);
	need(!named || oldest_removed(list) == list->count, "an entry was not removed");
	for (size_t at; (at = oldest_removed(list)) < list->count; removals++) {
		remove_at(list, at);
	}
	need(count == removals, "another number of entries was removed");
}

static void count_into(int on)
{
	memset(&counters, 0, sizeof(counters));
	memset(&expected, 0, sizeof(expected));
	mbmatch_count(&m, on ? &counters : NULL);
}

static void check(void)
{
	size_t at = 0;
	for (const mbmatch_receive_t *r = mbmatch_first_receive(&m); r != NULL; r = mbmatch_next_receive(&m, r)) {
		need(at < posted.count && r == &place_at(&posted, at++)->receive, "the receives are in another order");
		need(r->entry.prev->next == &r->entry && r->entry.next->prev == &r->entry, "the links of receives do not agree");
	}
	need(at == posted.count && mbmatch_posted(&m) == at, "a receive is missing");
	at = 0;
	for (const mbmatch_message_t *e = mbmatch_first_message(&m); e != NULL; e = mbmatch_next_message(&m, e)) {
		need(at < waiting.count && e == &place_at(&waiting, at++)->message, "the messages are in another order");
		need(e->entry.prev->next == &e->entry && e->entry.next->prev == &e->entry, "the links of messages do not agree");
	}
	need(at == waiting.count && mbmatch_unexpected(&m) == at, "a message is missing");
	need(memcmp(&counters, &expected, sizeof(counters)) == 0, "the counters are wrong");
	need(m.allocator == NULL || mbmatch_memory(&m) == allocated, "the matcher has other memory than it says");
}
