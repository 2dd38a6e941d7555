/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How it works. Each queue is a doubly linked list in order of age. While it is short, and while matches are found near
 * its oldest entry, this is all, and a search walks. Longer searches are counted: after MBMATCH_DEBT entries in such
 * searches, the queue gets an index.
 *
 * An index (struct mbmatch_index) is a hash table of the entries from the oldest one to a cursor; later ones are not in
 * it yet. A search looks into the table first, because all that is there is older, and then walks from the cursor on.
 * The cursor moves on in two ways: such a walk takes the entries that it passes into the table, and a new entry is taken
 * in at once if the cursor is at the youngest one. New entries are no longer taken in when the last MBMATCH_WARM of them
 * served no search, or when the queue has become short; what is in the table stays until it is matched. So no state
 * exists in which an index is built or given up: both are a cursor that moves or does not.
 *
 * The posted receives have one index, whose key is the kind of the pattern with bits and source: an arriving message
 * looks up one key for each kind that is posted, and takes the oldest of what it finds. The messages have up to four,
 * one for each kind of pattern that has searched deep: a receive looks into the one of its kind. Patterns with other
 * ignore bits than the tag mask are not in a table: receives are in a list of their own, which each arriving message
 * walks as far as it is older than what was found; as a probe or a receive they walk the messages.
 *
 * A bucket is a list of groups, one for each key. Two links an entry are enough, although a group is appended to at its
 * tail, taken from at its head, and passed in one step: `next` is the next entry of the group, and at its tail the
 * leader of the next group in the bucket; `prev` is the previous entry of the group, and at its leader the tail. Equal
 * keys are so in order of age, with the oldest one in front, and a bucket is as long as it has different keys.
 *
 * Bits of a protocol (mbmatch_masks) are not in the keys. A group then has entries that differ in them, and a search
 * walks it to the first one that fits. The functions for this are apart, so that matchers without such bits pay nothing.
 *
 * A table that has more keys than buckets is replaced by one of four times the size, which takes two buckets of the old
 * one with each new entry. Until then a bucket of the old one is where its entries are.
 *
 * Functions that are rarely called are not inlined, and called last: the others then save no registers.
 */
#define MBMATCH_SOURCE
#if defined(__GNUC__) && !defined(__clang__)
/* Pairs of links would be joined in vector registers and stored at once, which takes longer than two stores. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif
#include "mbmatch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define INLINE static inline __attribute__((always_inline))
#define RARE static __attribute__((noinline))
#else
#define LIKELY(condition) (condition)
#define UNLIKELY(condition) (condition)
#define INLINE static inline
#define RARE static
#endif

/* Tests set smaller ones, so that few entries reach all of the code. */
#ifndef MBMATCH_DEBT
#define MBMATCH_DEBT 128 /* entries passed in long searches before an index takes entries in */
#endif
#ifndef MBMATCH_WARM
#define MBMATCH_WARM 1024 /* entries that an index takes in before it is looked at whether it was used */
#endif
#ifndef MBMATCH_FIRST_BUCKETS
#define MBMATCH_FIRST_BUCKETS 32 /* of a table; a power of two */
#endif

enum {
	DEBT = MBMATCH_DEBT,
	WARM = MBMATCH_WARM,
	FIRST_BUCKETS = MBMATCH_FIRST_BUCKETS,
	GROWTH = 4, /* times the buckets */
	MOVED = 2   /* buckets with each new entry: all are moved before the next growth, 3 x buckets entries later */
};

_Static_assert(sizeof(mbmatch_receive_t) <= 64 && sizeof(mbmatch_message_t) <= 96 && sizeof(mbmatch_t) <= 128,
               "nodes and matchers have the size that the README states");
_Static_assert(MBMATCH_FIRST_BUCKETS % MOVED == 0, "buckets move in steps of MOVED");

typedef mbmatch_entry_t entry;
typedef mbmatch_link_t links;
typedef mbmatch_receive_t receive;
typedef mbmatch_message_t message;

struct table {
	uint32_t mask;   /* buckets less 1 */
	uint32_t groups; /* in this table and the old one */
	uint32_t limit;  /* of groups, at which the table grows */
	uint32_t moved;  /* buckets of the old table that are empty */
	struct table *old;
	links *bucket[];
};

struct mbmatch_index {
	struct table *table;
	entry *cursor; /* the youngest entry in the table, or the queue's end */
	uint32_t debt;
	uint32_t warm; /* entries until it is looked at whether it was used; 1: it takes none in */
	uint32_t used; /* not 0: a search was served since then */
};

/* The indexes of a matcher: of the receives, then of the messages by kind. */
enum { RECEIVES = 0, MESSAGES = 1, INDEXES = 5 };

struct mbmatch_indexes {
	struct mbmatch_index of[INDEXES];
	links masked; /* the receives of this kind that the index covers, by their links, oldest first */
};

/* How the key of an index is made of an entry: a constant at each use. */
struct form {
	size_t link;    /* offset of the links */
	uint64_t keep;  /* bits of the key */
	uint32_t any;   /* bits that are set in the source of the key */
	uint32_t kind;  /* bits of the state that are part of the key */
	uint32_t state; /* bit of the state that is set in an entry of the index */
};

/* With protocol bits, keys do not have them, so that a group has entries that differ in them. Functions for matchers
 * without them are apart, since a test and a constant mask are cheaper there than a mask in memory. */
INLINE bool has_protocol(const mbmatch_t *m)
{
	return m->key_bits != UINT64_MAX;
}

INLINE struct form form_of_receives(const mbmatch_t *m)
{
	struct form form = {offsetof(receive, link), m->key_bits, 0, MBMATCH_KIND_BITS, MBMATCH_INDEXED};
	return form;
}

INLINE struct form without_protocol(struct form form)
{
	form.keep = UINT64_MAX;
	return form;
}

INLINE struct form form_of_messages(const mbmatch_t *m, unsigned kind)
{
	struct form form = {offsetof(message, link) + kind * sizeof(links), kind & 2 ? m->any_tag_bits : m->key_bits,
	                    kind & 1 ? MBMATCH_ANY_SOURCE : 0, 0, 1u << kind};
	return form;
}

INLINE links *link_of(entry *e, struct form form)
{
	return (links *) (void *) ((char *) e + form.link);
}

INLINE entry *entry_of(links *l, struct form form)
{
	return (entry *) (void *) ((char *) l - form.link);
}

INLINE entry *end_of(mbmatch_queue_t *queue)
{
	return (entry *) (void *) queue;
}

/*
 * Tables
 */

/* Two rounds, so that neither tags nor sources in any stride have a share of buckets that is far from random. */
INLINE uint32_t hash_of(uint64_t bits, uint32_t source)
{
	uint64_t h = bits * UINT64_C(0x9e3779b97f4a7c15);
	h = ((h ^ h >> 32) + source) * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t) (h >> 32);
}

INLINE links **bucket_of(struct table *t, uint32_t hash)
{
	if (UNLIKELY(t->old != NULL)) {
		uint32_t b = hash & t->old->mask;
		if (b >= t->moved) {
			return &t->old->bucket[b];
		}
	}
	return &t->bucket[hash & t->mask];
}

INLINE bool has_key(const entry *e, struct form form, uint64_t bits, uint32_t source, uint32_t kind)
{
	return (e->bits & form.keep) == bits && (e->source | form.any) == source && (e->state & form.kind) == kind;
}

/* Where the leader of the group of a key is linked from; or the end of the bucket, which is NULL. */
INLINE links **find_key(struct table *t, struct form form, uint64_t bits, uint32_t source, uint32_t kind)
{
	links **from = bucket_of(t, hash_of(bits, source));
	while (*from != NULL && !has_key(entry_of(*from, form), form, bits, source, kind)) {
		from = &(*from)->prev->next;
	}
	return from;
}

INLINE links **find_key_of(struct table *t, struct form form, const entry *e)
{
	return find_key(t, form, e->bits & form.keep, e->source | form.any, e->state & form.kind);
}

INLINE void unlink_leader(struct table *t, links **from, links *leader)
{
	links *next = leader->next, *tail = leader->prev;
	*from = next;
	if (tail == leader) {
		t->groups--;
	} else {
		next->prev = tail;
	}
}

/* Takes an entry out of the table, wherever it is in its group. */
INLINE void unlink_entry(struct table *t, struct form form, entry *e)
{
	links *l = link_of(e, form), *next = l->next, *prev = l->prev;
	if (prev == l || prev->next != l) {
		links **from = bucket_of(t, hash_of(e->bits & form.keep, e->source | form.any));
		while (*from != l) {
			from = &(*from)->prev->next;
		}
		unlink_leader(t, from, l);
	} else {
		prev->next = next;
		if (next != NULL && next->prev == l) {
			next->prev = prev;
		} else {
			/* It is the tail; the leader is found by its key. */
			(*find_key_of(t, form, e))->prev = prev;
		}
	}
}

static size_t bytes_of_table(uint32_t buckets)
{
	return sizeof(struct table) + buckets * sizeof(links *);
}

static void *allocate(const mbmatch_t *m, size_t bytes)
{
	return m->allocator != NULL ? m->allocator->allocate(m->allocator->context, bytes) : calloc(1, bytes);
}

static void release(const mbmatch_t *m, void *memory, size_t bytes)
{
	if (m->allocator != NULL) {
		m->allocator->release(m->allocator->context, memory, bytes);
	} else {
		free(memory);
	}
}

static struct table *make_table(const mbmatch_t *m, uint32_t buckets)
{
	struct table *t = (struct table *) allocate(m, bytes_of_table(buckets));
	if (t != NULL) {
		t->mask = buckets - 1;
		t->limit = buckets;
	}
	return t;
}

static void free_table(const mbmatch_t *m, struct table *t)
{
	while (t != NULL) {
		struct table *old = t->old;
		release(m, t, bytes_of_table(t->mask + 1));
		t = old;
	}
}

RARE void move_buckets(const mbmatch_t *m, struct table *t, struct form form)
{
	struct table *old = t->old;
	for (int n = 0; n < MOVED; n++) {
		links *leader = old->bucket[t->moved];
		old->bucket[t->moved] = NULL;
		while (leader != NULL) {
			links *tail = leader->prev, *next = tail->next;
			const entry *e = entry_of(leader, form);
			links **to = &t->bucket[hash_of(e->bits & form.keep, e->source | form.any) & t->mask];
			tail->next = *to;
			*to = leader;
			leader = next;
		}
		t->moved++;
	}
	if (t->moved > old->mask) {
		t->old = NULL;
		release(m, old, bytes_of_table(old->mask + 1));
	}
}

RARE void *grow_table(const mbmatch_t *m, struct mbmatch_index *x)
{
	struct table *old = x->table;
	if (old->old != NULL) {
		return NULL; /* after memory was missing, there may be too many groups for the next size, too */
	}
	struct table *t = old->mask < UINT32_MAX / GROWTH ? make_table(m, (old->mask + 1) * GROWTH) : NULL;
	if (t == NULL) {
		old->limit = old->limit < UINT32_MAX / GROWTH ? old->limit * GROWTH : UINT32_MAX;
		return NULL;
	}
	t->groups = old->groups;
	t->old = old;
	x->table = t;
	return NULL; /* for callers that return it, as what they found */
}

/* Takes an entry into the table, as the youngest. Returns whether the table has become too small. */
INLINE bool insert(struct mbmatch_index *x, struct table *t, struct form form, entry *e)
{
	links *l = link_of(e, form), **from = find_key_of(t, form, e), *leader = *from;
	e->state |= form.state;
	x->cursor = e;
	if (leader == NULL) {
		l->next = NULL;
		l->prev = l;
		*from = l;
		return ++t->groups > t->limit;
	}
	links *tail = leader->prev;
	l->next = tail->next;
	l->prev = tail;
	tail->next = l;
	leader->prev = l;
	return false;
}

/* The same with what follows from it for the table. */
INLINE void link_entry(const mbmatch_t *m, struct mbmatch_index *x, struct form form, entry *e)
{
	if (x->table->old != NULL) {
		move_buckets(m, x->table, form);
	}
	if (insert(x, x->table, form, e)) {
		grow_table(m, x);
	}
}

/* At the end of `warm`: whether the index still takes entries in. */
RARE bool stays_warm(struct mbmatch_index *x, size_t length)
{
	bool stays = x->table != NULL && x->used && length > MBMATCH_SHORT;
	x->warm = stays ? WARM : 1;
	x->used = 0;
	return stays;
}

/* Whether an index can take entries in: it gets its table if it has none. */
static bool has_table(mbmatch_t *m, struct mbmatch_index *x)
{
	if (x->table == NULL) {
		x->table = make_table(m, FIRST_BUCKETS);
		m->indexed_kinds = 0;
		for (unsigned kind = 0; kind < 4; kind++) {
			m->indexed_kinds |= (m->indexes->of[MESSAGES + kind].table != NULL) << kind;
		}
	}
	return x->table != NULL;
}

/* Notes a search of an index's queue that passed so many entries in the list. */
RARE void pay(mbmatch_t *m, unsigned index, size_t passed)
{
	if (m->indexes == NULL) {
		m->indexes = (struct mbmatch_indexes *) allocate(m, sizeof(struct mbmatch_indexes));
		if (m->indexes == NULL) {
			return;
		}
		m->indexes->masked.next = m->indexes->masked.prev = &m->indexes->masked;
		for (unsigned k = 0; k < INDEXES; k++) {
			m->indexes->of[k].cursor = end_of(k == RECEIVES ? &m->posted : &m->unexpected);
			m->indexes->of[k].warm = 1;
		}
	}
	struct mbmatch_index *x = &m->indexes->of[index];
	x->debt = passed < DEBT - x->debt ? x->debt + (uint32_t) passed : DEBT;
}

/*
 * Queues
 */

INLINE void append(mbmatch_queue_t *queue, entry *e)
{
	entry *last = queue->prev;
	e->next = end_of(queue);
	e->prev = last;
	last->next = e;
	queue->prev = e;
}

INLINE void leave(entry *e)
{
	entry *next = e->next, *prev = e->prev;
	prev->next = next;
	next->prev = prev;
	e->next = NULL;
}

INLINE unsigned kind_of(const mbmatch_t *m, uint64_t ignore, uint32_t source)
{
	unsigned any = source == MBMATCH_ANY_SOURCE;
	ignore &= m->key_bits;
	return LIKELY(ignore == 0) ? any : LIKELY(ignore == (m->key_bits ^ m->any_tag_bits)) ? any + 2 : MBMATCH_MASKED;
}

/*
 * Posted receives
 */

/* NULL if the matcher has no index. */
INLINE struct mbmatch_index *receives_index(const mbmatch_t *m)
{
	return m->indexes != NULL ? &m->indexes->of[RECEIVES] : NULL;
}

INLINE bool receive_accepts(const receive *r, uint64_t bits, uint32_t source)
{
	return ((r->entry.bits ^ bits) & r->compare) == 0 &&
	       (r->entry.source == source || r->entry.source == MBMATCH_ANY_SOURCE);
}

/* Takes the receive after the cursor into the index. The masked ones are in a list, in order of age. */
INLINE void link_receive(mbmatch_t *m, struct mbmatch_index *x, receive *r)
{
	if (UNLIKELY((r->entry.state & MBMATCH_KIND_BITS) == MBMATCH_MASKED)) {
		links *end = &m->indexes->masked, *l = &r->link;
		l->next = end;
		l->prev = end->prev;
		end->prev->next = l;
		end->prev = l;
		r->entry.state |= MBMATCH_INDEXED;
		x->cursor = &r->entry;
	} else {
		link_entry(m, x, form_of_receives(m), &r->entry);
	}
}

INLINE receive *leave_receives(mbmatch_t *m, receive *r)
{
	unsigned kind = r->entry.state & MBMATCH_KIND_BITS;
	m->posted_length--;
	if (kind != 0) {
		m->kinds[kind]--;
		m->kinds[0]--;
	}
	leave(&r->entry);
	return r;
}

/* Moves the cursor off an entry that leaves. */
INLINE void leave_cursor(struct mbmatch_index *x, const entry *e)
{
	if (x->cursor == e) {
		x->cursor = e->prev;
	}
}

RARE receive *remove_indexed_receive(mbmatch_t *m, receive *r)
{
	struct mbmatch_index *x = &m->indexes->of[RECEIVES];
	leave_cursor(x, &r->entry);
	if (UNLIKELY((r->entry.state & MBMATCH_KIND_BITS) == MBMATCH_MASKED)) {
		r->link.prev->next = r->link.next;
		r->link.next->prev = r->link.prev;
	} else {
		unlink_entry(x->table, form_of_receives(m), &r->entry);
	}
	return leave_receives(m, r);
}

INLINE receive *remove_receive(mbmatch_t *m, receive *r)
{
	return r->entry.state & MBMATCH_INDEXED ? remove_indexed_receive(m, r) : leave_receives(m, r);
}

/* An index has served a search, unless the oldest entry of all would have too. */
INLINE void served(struct mbmatch_index *x, const entry *e, const mbmatch_queue_t *queue)
{
	x->used |= (uint32_t) ((uintptr_t) e - (uintptr_t) queue->next);
}

/* The rest of a search of the receives: `e` and those behind it, after more than MBMATCH_SHORT others. */
RARE receive *walk_receives(mbmatch_t *m, entry *e, uint64_t bits, uint32_t source)
{
	entry *end = end_of(&m->posted);
	struct mbmatch_index *x = receives_index(m);
	if (e != end && x != NULL && x->debt >= DEBT && has_table(m, x)) {
		x->debt = 0;
		x->warm = WARM;
		for (entry *into = x->cursor->next; into != e; into = into->next) {
			link_receive(m, x, (receive *) into);
		}
		for (; e != end && !receive_accepts((receive *) e, bits, source); e = e->next) {
			link_receive(m, x, (receive *) e);
		}
	} else {
		size_t passed = MBMATCH_SHORT + 1;
		for (; e != end && !receive_accepts((receive *) e, bits, source); e = e->next) {
			passed++;
		}
		pay(m, RECEIVES, passed);
	}
	return e == end ? NULL : (receive *) e;
}

/* A receive that was found in the index, and where it is linked from if it is the leader of a group. */
struct found {
	receive *receive;
	links **from;
};

/* Of a group, the oldest receive that accepts a message, if it is older than `best`: with protocol bits, which are not
 * in the key, a group has receives that do not. */
RARE struct found older_in_group(links *leader, uint64_t bits, uint32_t source, struct found best)
{
	links *tail = leader->prev;
	for (links *l = leader;; l = l->next) {
		receive *r = MBMATCH_OBJECT(l, receive, link);
		if (best.receive != NULL && best.receive->age < r->age) {
			break;
		}
		if (receive_accepts(r, bits, source)) {
			best.receive = r;
			best.from = NULL;
			break;
		}
		if (l == tail) {
			break;
		}
	}
	return best;
}

/* The oldest receive of one kind in the index that accepts a message, if it is older than `best`. `keep` are the bits
 * of the key, `any` those that are set in its source. */
INLINE struct found older(const mbmatch_t *m, struct table *t, uint64_t bits, uint64_t keep, uint32_t source,
                          uint32_t any, uint32_t kind, bool protocol, struct found best)
{
	if (kind == 0 || m->kinds[kind] != 0) {
		struct form form = protocol ? form_of_receives(m) : without_protocol(form_of_receives(m));
		links **from = find_key(t, form, bits & keep, source | any, kind);
		if (*from != NULL) {
			receive *r = (receive *) entry_of(*from, form);
			if (protocol) {
				return older_in_group(*from, bits, source, best);
			}
			if (best.receive == NULL || r->age < best.receive->age) {
				best.receive = r;
				best.from = from;
			}
		}
	}
	return best;
}

/* The oldest masked receive in the index that accepts a message, if it is older than `best`. */
RARE struct found older_masked(mbmatch_t *m, uint64_t bits, uint32_t source, struct found best)
{
	for (links *l = m->indexes->masked.next; l != &m->indexes->masked; l = l->next) {
		receive *r = MBMATCH_OBJECT(l, receive, link);
		if (best.receive != NULL && best.receive->age < r->age) {
			break;
		}
		if (receive_accepts(r, bits, source)) {
			best.receive = r;
			best.from = NULL;
			break;
		}
	}
	return best;
}

/* Of the receives in the index that accept a message, the oldest. */
INLINE struct found find_indexed_receive(mbmatch_t *m, struct table *t, uint64_t bits, uint32_t source,
                                         bool protocol)
{
	struct found best = {NULL, NULL};
	uint64_t keep = protocol ? m->key_bits : UINT64_MAX;
	best = older(m, t, bits, keep, source, 0, 0, protocol, best);
	if (best.receive != NULL && m->hints & MBMATCH_ALLOW_OVERTAKING) {
		return best;
	}
	best = older(m, t, bits, keep, source, MBMATCH_ANY_SOURCE, 1, protocol, best);
	if (m->kinds[0] != m->kinds[1]) {
		best = older(m, t, bits, m->any_tag_bits, source, 0, 2, protocol, best);
		best = older(m, t, bits, m->any_tag_bits, source, MBMATCH_ANY_SOURCE, 3, protocol, best);
		if (UNLIKELY(m->kinds[MBMATCH_MASKED] != 0)) {
			best = older_masked(m, bits, source, best);
		}
	}
	return best;
}

INLINE receive *append_receive(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source, unsigned kind)
{
	r->entry.bits = bits & ~ignore;
	r->entry.source = source;
	r->entry.state = kind;
	r->compare = ~ignore;
	r->age = m->age++;
	if (kind != 0) {
		m->kinds[kind]++;
		m->kinds[0]++;
	}
	m->posted_length++;
	append(&m->posted, &r->entry);
	return r;
}

/* Functions that queue an entry return NULL, as the post or arrival does that ends with them. */

/* What is rare when the index takes the youngest receive in. */
RARE message *link_youngest_receive(mbmatch_t *m)
{
	struct mbmatch_index *x = &m->indexes->of[RECEIVES];
	if (x->warm > 0 || stays_warm(x, m->posted_length)) {
		link_receive(m, x, (receive *) m->posted.prev);
	}
	return NULL;
}

INLINE message *queue_indexed(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source, unsigned kind,
                              struct form form)
{
	struct mbmatch_index *x = &m->indexes->of[RECEIVES];
	const entry *last = m->posted.prev;
	append_receive(m, r, bits, ignore, source, kind);
	if (x->cursor != last) {
		return NULL;
	}
	if (UNLIKELY(--x->warm == 0 || x->table->old != NULL || kind == MBMATCH_MASKED)) {
		return link_youngest_receive(m);
	}
	return UNLIKELY(insert(x, x->table, form, &r->entry)) ? (message *) grow_table(m, x) : NULL;
}

RARE message *queue_indexed_receive(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	return queue_indexed(m, r, bits, ignore, source, kind_of(m, ignore, source), form_of_receives(m));
}

RARE message *queue_indexed_exact_receive(mbmatch_t *m, receive *r, uint64_t bits, uint32_t source)
{
	return UNLIKELY(has_protocol(m))
	           ? queue_indexed_receive(m, r, bits, 0, source)
	           : queue_indexed(m, r, bits, 0, source, 0, without_protocol(form_of_receives(m)));
}

INLINE message *queue_receive(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	if (LIKELY(ignore == 0 && source != MBMATCH_ANY_SOURCE)) {
		if (m->indexes != NULL) {
			return queue_indexed_exact_receive(m, r, bits, source);
		}
		append_receive(m, r, bits, 0, source, 0);
		return NULL;
	}
	if (m->indexes != NULL) {
		return queue_indexed_receive(m, r, bits, ignore, source);
	}
	append_receive(m, r, bits, ignore, source, kind_of(m, ignore, source));
	return NULL;
}

/*
 * Unexpected messages
 */

INLINE bool message_fits(const entry *e, uint64_t bits, uint64_t ignore, uint32_t source)
{
	return ((e->bits ^ bits) & ~ignore) == 0 && (e->source == source || source == MBMATCH_ANY_SOURCE);
}

INLINE message *leave_messages(mbmatch_t *m, message *e)
{
	m->unexpected_length--;
	leave(&e->entry);
	return e;
}

INLINE void unlink_message(mbmatch_t *m, message *e, unsigned kind)
{
	if (e->entry.state & 1u << kind) {
		struct mbmatch_index *x = &m->indexes->of[MESSAGES + kind];
		leave_cursor(x, &e->entry);
		unlink_entry(x->table, form_of_messages(m, kind), &e->entry);
	}
}

RARE message *remove_indexed_message(mbmatch_t *m, message *e)
{
	unlink_message(m, e, 0);
	unlink_message(m, e, 1);
	unlink_message(m, e, 2);
	unlink_message(m, e, 3);
	return leave_messages(m, e);
}

INLINE message *remove_message(mbmatch_t *m, message *e)
{
	return e->entry.state != 0 ? remove_indexed_message(m, e) : leave_messages(m, e);
}

/* The rest of a search of the messages: `e` and those behind it, after more than MBMATCH_SHORT others. */
RARE message *walk_messages(mbmatch_t *m, entry *e, uint64_t bits, uint64_t ignore, uint32_t source)
{
	entry *end = end_of(&m->unexpected);
	unsigned kind = kind_of(m, ignore, source);
	struct mbmatch_index *x = m->indexes == NULL || kind == MBMATCH_MASKED ? NULL : &m->indexes->of[MESSAGES + kind];
	if (e != end && x != NULL && x->debt >= DEBT && has_table(m, x)) {
		struct form form = form_of_messages(m, kind);
		x->debt = 0;
		x->warm = WARM;
		for (entry *into = x->cursor->next; into != e; into = into->next) {
			link_entry(m, x, form, into);
		}
		for (; e != end && !message_fits(e, bits, ignore, source); e = e->next) {
			link_entry(m, x, form, e);
		}
	} else {
		size_t passed = MBMATCH_SHORT + 1;
		for (; e != end && !message_fits(e, bits, ignore, source); e = e->next) {
			passed++;
		}
		if (kind != MBMATCH_MASKED) {
			pay(m, MESSAGES + kind, passed);
		}
	}
	return e == end ? NULL : (message *) e;
}

/* Searches the messages from `at` on, none of which is in the index of this kind. */
INLINE message *search_messages(mbmatch_t *m, entry *at, uint64_t bits, uint64_t ignore, uint32_t source)
{
	for (int left = MBMATCH_SHORT + 1; at != end_of(&m->unexpected); at = at->next) {
		if (message_fits(at, bits, ignore, source)) {
			return (message *) at;
		}
		if (--left == 0) {
			return walk_messages(m, at->next, bits, ignore, source);
		}
	}
	return NULL;
}

/* Where the search of a kind begins to walk: behind what is in the index, and behind the oldest, which does not fit. */
INLINE entry *walk_from(mbmatch_t *m, uint64_t ignore, uint32_t source)
{
	if (m->indexes != NULL) {
		unsigned kind = kind_of(m, ignore, source);
		if (kind != MBMATCH_MASKED && m->indexes->of[MESSAGES + kind].cursor != end_of(&m->unexpected)) {
			return m->indexes->of[MESSAGES + kind].cursor->next;
		}
	}
	return m->unexpected.next->next;
}

/* The rest of a search: what is not in the index. `r` is NULL for a search alone. */
RARE message *post_walking(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	message *found = search_messages(m, walk_from(m, ignore, source), bits, ignore, source);
	if (found != NULL) {
		return remove_message(m, found);
	}
	return r == NULL ? NULL : queue_receive(m, r, bits, ignore, source);
}

/* Of a group, the oldest message that fits: with protocol bits, which are not in the key, a group has others. */
RARE links *fitting_in_group(links *leader, struct form form, uint64_t bits, uint64_t ignore, uint32_t source)
{
	links *tail = leader->prev, *l = leader;
	while (!message_fits(entry_of(l, form), bits, ignore, source)) {
		if (l == tail) {
			return NULL;
		}
		l = l->next;
	}
	return l;
}

/* The search of one kind of pattern in its index, and what follows. */
INLINE message *post_of_kind(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source, unsigned kind,
                             bool protocol)
{
	struct mbmatch_index *x = &m->indexes->of[MESSAGES + kind];
	entry *cursor = x->cursor;
	if (cursor != end_of(&m->unexpected)) {
		struct form form = form_of_messages(m, kind);
		form = protocol || kind & 2 ? form : without_protocol(form);
		links **from = find_key(x->table, form, bits & form.keep, source, 0), *leader = *from;
		if (protocol && leader != NULL) {
			leader = fitting_in_group(leader, form, bits, ignore, source);
		}
		if (leader != NULL) {
			message *e = (message *) entry_of(leader, form);
			served(x, &e->entry, &m->unexpected);
			if (!protocol) {
				unlink_leader(x->table, from, leader);
				leave_cursor(x, &e->entry);
				e->entry.state ^= 1u << kind;
			}
			return remove_message(m, e);
		}
		if (cursor == m->unexpected.prev) {
			return r == NULL ? NULL : queue_indexed_receive(m, r, bits, ignore, source);
		}
	}
	return post_walking(m, r, bits, ignore, source);
}

#define POST_OF_KIND(kind) \
	RARE message *post_of_kind_##kind(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source) \
	{ \
		return post_of_kind(m, r, bits, ignore, source, kind, false); \
	}
POST_OF_KIND(0)
POST_OF_KIND(1)
POST_OF_KIND(2)
POST_OF_KIND(3)
#undef POST_OF_KIND

RARE message *post_with_protocol(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	unsigned kind = kind_of(m, ignore, source);
	return kind != MBMATCH_MASKED ? post_of_kind(m, r, bits, ignore, source, kind, true)
	                              : post_walking(m, r, bits, ignore, source);
}

/* The pattern of another kind. */
RARE message *post_wildcard(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	message *oldest = (message *) m->unexpected.next;
	if (message_fits(&oldest->entry, bits, ignore, source)) {
		return remove_message(m, oldest);
	}
	if (m->indexes == NULL) {
		return post_walking(m, r, bits, ignore, source);
	}
	if (UNLIKELY(has_protocol(m))) {
		return post_with_protocol(m, r, bits, ignore, source);
	}
	if (ignore == 0) {
		return post_of_kind_1(m, r, bits, ignore, source);
	}
	if (ignore == ~m->any_tag_bits) {
		return source != MBMATCH_ANY_SOURCE ? post_of_kind_2(m, r, bits, ignore, source)
		                                    : post_of_kind_3(m, r, bits, ignore, source);
	}
	return post_walking(m, r, bits, ignore, source);
}

/* A post, or with NULL for `r` a search alone. */
INLINE message *post(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	message *oldest = (message *) m->unexpected.next;
	if (&oldest->entry == end_of(&m->unexpected)) {
		return r == NULL ? NULL : queue_receive(m, r, bits, ignore, source);
	}
	if (ignore != 0 || source == MBMATCH_ANY_SOURCE) {
		return post_wildcard(m, r, bits, ignore, source);
	}
	if (!(oldest->entry.state & 1) && oldest->entry.bits == bits && oldest->entry.source == source) {
		return remove_message(m, oldest);
	}
	if (m->indexes == NULL) {
		return post_walking(m, r, bits, 0, source);
	}
	return UNLIKELY(has_protocol(m)) ? post_with_protocol(m, r, bits, 0, source) : post_of_kind_0(m, r, bits, 0, source);
}

INLINE void append_message(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	e->entry.bits = bits;
	e->entry.source = source;
	e->entry.state = 0;
	m->unexpected_length++;
	append(&m->unexpected, &e->entry);
}

/* What is rare when indexes take the youngest message in, for the kinds whose bits are set. */
RARE receive *link_youngest_message(mbmatch_t *m, message *e, unsigned kinds)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct mbmatch_index *x = &m->indexes->of[MESSAGES + kind];
		if (!(kinds & 1u << kind)) {
			continue;
		}
		if (e->entry.state & 1u << kind) {
			grow_table(m, x);
		} else if (x->warm > 0 || stays_warm(x, m->unexpected_length)) {
			link_entry(m, x, form_of_messages(m, kind), &e->entry);
		}
	}
	return NULL;
}

/* Takes the youngest message into an index that has all others, of which the youngest is `last`. Returns the bit of
 * the kind if something is left to do. */
INLINE unsigned link_message(mbmatch_t *m, message *e, const entry *last, unsigned kind, struct form form)
{
	struct mbmatch_index *x = &m->indexes->of[MESSAGES + kind];
	if (x->cursor != last) {
		return 0;
	}
	bool rare = UNLIKELY(--x->warm == 0 || x->table->old != NULL) ||
	            UNLIKELY(insert(x, x->table, form, &e->entry));
	return rare ? 1u << kind : 0;
}

RARE receive *queue_indexed_message(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	const entry *last = m->unexpected.prev;
	unsigned kinds = m->indexed_kinds, rest = 0;
	append_message(m, e, bits, source);
	rest |= kinds & 1 ? link_message(m, e, last, 0, form_of_messages(m, 0)) : 0;
	rest |= kinds & 2 ? link_message(m, e, last, 1, form_of_messages(m, 1)) : 0;
	rest |= kinds & 4 ? link_message(m, e, last, 2, form_of_messages(m, 2)) : 0;
	rest |= kinds & 8 ? link_message(m, e, last, 3, form_of_messages(m, 3)) : 0;
	return UNLIKELY(rest != 0) ? link_youngest_message(m, e, rest) : NULL;
}

/* No index but the exact one has a table. */
RARE receive *queue_exactly_indexed_message(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	const entry *last = m->unexpected.prev;
	append_message(m, e, bits, source);
	unsigned rest = link_message(m, e, last, 0, without_protocol(form_of_messages(m, 0)));
	return UNLIKELY(rest != 0) ? link_youngest_message(m, e, 1) : NULL;
}

/* `e` is NULL for a search alone. */
INLINE receive *queue_message(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	if (e == NULL) {
		return NULL;
	}
	if (UNLIKELY(m->unexpected_length >= m->limit)) {
		e->entry.next = NULL;
		return NULL;
	}
	if (m->indexes != NULL) {
		return m->indexed_kinds == 1 && LIKELY(!has_protocol(m)) ? queue_exactly_indexed_message(m, e, bits, source)
		                             : queue_indexed_message(m, e, bits, source);
	}
	append_message(m, e, bits, source);
	return NULL;
}

/* Searches the receives from `at` on, none of which is in the index. */
INLINE receive *search_receives(mbmatch_t *m, entry *at, uint64_t bits, uint32_t source)
{
	for (int left = MBMATCH_SHORT + 1; at != end_of(&m->posted); at = at->next) {
		if (receive_accepts((receive *) at, bits, source)) {
			return (receive *) at;
		}
		if (--left == 0) {
			return walk_receives(m, at->next, bits, source);
		}
	}
	return NULL;
}

/* The rest of a search: what is not in the index. */
RARE receive *arrive_walking(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	const struct mbmatch_index *x = receives_index(m);
	entry *from = x != NULL && x->cursor != end_of(&m->posted) ? x->cursor : m->posted.next; /* which does not fit */
	receive *found = search_receives(m, from->next, bits, source);
	if (found == NULL) {
		return queue_message(m, e, bits, source);
	}
	return UNLIKELY(found->entry.state & MBMATCH_STAYS) ? found : leave_receives(m, found);
}

/* The search of the index for receives of all kinds, and what follows. */
INLINE receive *arrive_of_kinds(mbmatch_t *m, message *e, uint64_t bits, uint32_t source, bool protocol)
{
	struct mbmatch_index *x = &m->indexes->of[RECEIVES];
	struct table *t = x->table;
	struct found best = find_indexed_receive(m, t, bits, source, protocol);
	receive *r = best.receive;
	if (r == NULL) {
		return x->cursor == m->posted.prev ? queue_message(m, e, bits, source) : arrive_walking(m, e, bits, source);
	}
	served(x, &r->entry, &m->posted);
	if (UNLIKELY(r->entry.state & MBMATCH_STAYS)) {
		return r;
	}
	if (UNLIKELY(best.from == NULL)) {
		return remove_indexed_receive(m, r);
	}
	unlink_leader(t, best.from, &r->link);
	leave_cursor(x, &r->entry);
	return leave_receives(m, r);
}

RARE receive *arrive_among_kinds(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	return arrive_of_kinds(m, e, bits, source, false);
}

RARE receive *arrive_with_protocol(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	return arrive_of_kinds(m, e, bits, source, true);
}

/* The oldest receive is in the index. */
RARE receive *arrive_indexed(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	struct mbmatch_index *x = &m->indexes->of[RECEIVES];
	if (m->kinds[0] != 0) {
		return has_protocol(m) ? arrive_with_protocol(m, e, bits, source) : arrive_among_kinds(m, e, bits, source);
	}
	if (UNLIKELY(has_protocol(m))) {
		return arrive_with_protocol(m, e, bits, source);
	}
	struct table *t = x->table;
	struct form form = without_protocol(form_of_receives(m));
	links **from = find_key(t, form, bits, source, 0), *leader = *from;
	if (leader == NULL) {
		return x->cursor == m->posted.prev ? queue_message(m, e, bits, source) : arrive_walking(m, e, bits, source);
	}
	receive *r = (receive *) entry_of(leader, form);
	served(x, &r->entry, &m->posted);
	if (UNLIKELY(r->entry.state & MBMATCH_STAYS)) {
		return r;
	}
	unlink_leader(t, from, leader);
	leave_cursor(x, &r->entry);
	m->posted_length--;
	leave(&r->entry);
	return r;
}

/* An arrival, or with NULL for `e` a search alone. */
INLINE receive *arrive(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	receive *oldest = (receive *) m->posted.next;
	if (&oldest->entry == end_of(&m->posted)) {
		return queue_message(m, e, bits, source);
	}
	if (oldest->entry.state & MBMATCH_INDEXED) {
		return arrive_indexed(m, e, bits, source);
	}
	if (receive_accepts(oldest, bits, source)) {
		return UNLIKELY(oldest->entry.state & MBMATCH_STAYS) ? oldest : leave_receives(m, oldest);
	}
	return arrive_walking(m, e, bits, source);
}

/*
 * Checks
 */

#ifdef MBMATCH_CHECK
static const char *place_file = "?";
static int place_line;

void mbmatch_at(const char *file, int line)
{
	place_file = file;
	place_line = line;
}

#ifdef __GNUC__
__attribute__((weak))
#endif
void mbmatch_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: mbmatch: %s\n", file, line, what);
	abort();
}

static void expect(bool condition, const char *what)
{
	if (!condition) {
		mbmatch_failed(what, place_file, place_line);
	}
}

/* Verifies the links and the length of a queue. Returns whether `wanted` is in it. */
static bool check_queue(const mbmatch_queue_t *queue, size_t length, const void *wanted)
{
	const entry *end = (const entry *) (const void *) queue, *last = end;
	size_t seen = 0;
	bool found = false;
	for (const entry *e = queue->next; e != end; last = e, e = e->next, seen++) {
		expect(e != NULL && e->prev == last && seen < length, "a queued node was changed, freed or queued elsewhere");
		found |= (const void *) e == wanted;
	}
	expect(queue->prev == last && seen == length, "a queued node was changed, freed or queued elsewhere");
	return found;
}

static void check_matcher(const mbmatch_t *m)
{
	expect(m->magic == MBMATCH_MAGIC && m->layout == MBMATCH_LAYOUT, "this is no matcher, or it was destroyed");
	check_queue(&m->posted, m->posted_length, NULL);
	check_queue(&m->unexpected, m->unexpected_length, NULL);
}

static void check_pattern(const mbmatch_t *m, uint64_t ignore, uint32_t source)
{
	check_matcher(m);
	expect(source != MBMATCH_ANY_SOURCE || !(m->hints & MBMATCH_NO_ANY_SOURCE),
	       "a pattern is from any source, which the hint MBMATCH_NO_ANY_SOURCE excludes");
	expect(ignore == 0 || !(m->hints & MBMATCH_NO_ANY_TAG),
	       "a pattern ignores bits, which the hint MBMATCH_NO_ANY_TAG excludes");
}

static void check_new(const mbmatch_t *m, const void *node)
{
	expect(node != NULL, "the node is NULL");
	expect(!check_queue(&m->posted, m->posted_length, node) &&
	           !check_queue(&m->unexpected, m->unexpected_length, node),
	       "the node is queued already");
}

#define CHECK_MATCHER(m) check_matcher(m)
#define CHECK_EMPTY(m) expect((m)->posted_length + (m)->unexpected_length == 0, "the queues are not empty")
#define CHECK_PATTERN(m, ignore, source) check_pattern(m, ignore, source)
#define CHECK_POST(m, r, bits, ignore, source) (check_pattern(m, ignore, source), check_new(m, r))
#define CHECK_ARRIVE(m, e, bits, source) (check_matcher(m), check_new(m, e))
#define CHECK_QUEUED(queue, length, node) expect(check_queue(queue, length, node), "the node is not in this queue")
#else
#define CHECK_MATCHER(m) ((void) 0)
#define CHECK_EMPTY(m) ((void) 0)
#define CHECK_PATTERN(m, ignore, source) ((void) 0)
#define CHECK_POST(m, r, bits, ignore, source) ((void) 0)
#define CHECK_ARRIVE(m, e, bits, source) ((void) 0)
#define CHECK_QUEUED(queue, length, node) ((void) 0)
#endif

/*
 * The interface
 */

void mbmatch_init(mbmatch_t *m, uint64_t tag_mask, unsigned hints, const mbmatch_allocator_t *allocator)
{
	memset(m, 0, sizeof(*m));
	m->magic = MBMATCH_MAGIC;
	m->layout = MBMATCH_LAYOUT;
	m->hints = (uint8_t) hints;
	m->posted.next = m->posted.prev = end_of(&m->posted);
	m->unexpected.next = m->unexpected.prev = end_of(&m->unexpected);
	m->limit = UINT32_MAX;
	m->key_bits = UINT64_MAX;
	m->any_tag_bits = ~tag_mask;
	m->allocator = allocator;
}

void mbmatch_masks(mbmatch_t *m, uint64_t tag_mask, uint64_t protocol)
{
	CHECK_EMPTY(m);
	m->key_bits = ~protocol;
	m->any_tag_bits = ~(tag_mask | protocol);
}

int mbmatch_version(void)
{
	return MBMATCH_VERSION;
}

/* Frees the table of an index, in whose queue nothing waits or is searched any more. */
static void free_index(mbmatch_t *m, unsigned k)
{
	struct mbmatch_index *x = &m->indexes->of[k];
	free_table(m, x->table);
	x->table = NULL;
	x->warm = 1;
	x->debt = x->used = 0;
	if (k != RECEIVES) {
		m->indexed_kinds &= (uint8_t) ~(1u << (k - MESSAGES));
	}
}

void mbmatch_trim(mbmatch_t *m)
{
	if (m->indexes == NULL) {
		return;
	}
	for (unsigned k = 0; k < INDEXES; k++) {
		if ((k == RECEIVES ? m->posted_length : m->unexpected_length) == 0) {
			free_index(m, k);
		}
	}
	if (m->posted_length + m->unexpected_length == 0) {
		release(m, m->indexes, sizeof(struct mbmatch_indexes));
		m->indexes = NULL;
	}
}

void mbmatch_destroy(mbmatch_t *m)
{
	m->posted_length = m->unexpected_length = 0;
	mbmatch_trim(m);
	m->magic = 0;
}

size_t mbmatch_memory(const mbmatch_t *m)
{
	size_t bytes = 0;
	if (m->indexes != NULL) {
		bytes = sizeof(struct mbmatch_indexes);
		for (unsigned k = 0; k < INDEXES; k++) {
			for (const struct table *t = m->indexes->of[k].table; t != NULL; t = t->old) {
				bytes += bytes_of_table(t->mask + 1);
			}
		}
	}
	return bytes;
}

/*
 * Counters. Each search is made a second time, in the list, to know how many entries it passes there.
 */

INLINE void count_search(mbmatch_queue_counters_t *counters, uint64_t compared)
{
	counters->searches++;
	counters->compared += compared;
	if (compared > counters->longest_search) {
		counters->longest_search = compared;
	}
}

INLINE void count_append(mbmatch_queue_counters_t *counters, uint64_t length)
{
	counters->appended++;
	if (length > counters->longest) {
		counters->longest = length;
	}
}

static void count_search_of_receives(mbmatch_t *m, uint64_t bits, uint32_t source)
{
	uint64_t compared = 0;
	for (receive *r = mbmatch_first_receive(m); r != NULL; r = mbmatch_next_receive(m, r)) {
		compared++;
		if (receive_accepts(r, bits, source)) {
			break;
		}
	}
	count_search(&m->counters->posted, compared);
}

static void count_search_of_messages(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source)
{
	uint64_t compared = 0;
	for (message *e = mbmatch_first_message(m); e != NULL; e = mbmatch_next_message(m, e)) {
		compared++;
		if (message_fits(&e->entry, bits, ignore, source)) {
			break;
		}
	}
	count_search(&m->counters->unexpected, compared);
}

RARE message *post_counted(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	size_t before = m->posted_length;
	count_search_of_messages(m, bits, ignore, source);
	message *found = post(m, r, bits, ignore, source);
	if (m->posted_length > before) {
		count_append(&m->counters->posted, m->posted_length);
	}
	return found;
}

RARE receive *arrive_counted(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	size_t before = m->unexpected_length;
	count_search_of_receives(m, bits, source);
	receive *found = arrive(m, e, bits, source);
	if (m->unexpected_length > before) {
		count_append(&m->counters->unexpected, m->unexpected_length);
	}
	return found;
}

message *mbmatch_post(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	CHECK_POST(m, r, bits, ignore, source);
	r->entry.next = NULL; /* if it matches at once, it is not queued */
	return UNLIKELY(m->counters != NULL) ? post_counted(m, r, bits, ignore, source) : post(m, r, bits, ignore, source);
}

receive *mbmatch_arrive(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	CHECK_ARRIVE(m, e, bits, source);
	e->entry.next = NULL;
	return UNLIKELY(m->counters != NULL) ? arrive_counted(m, e, bits, source) : arrive(m, e, bits, source);
}

receive *mbmatch_take_receive(mbmatch_t *m, uint64_t bits, uint32_t source)
{
	CHECK_MATCHER(m);
	return UNLIKELY(m->counters != NULL) ? arrive_counted(m, NULL, bits, source) : arrive(m, NULL, bits, source);
}

message *mbmatch_take_message(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source)
{
	CHECK_PATTERN(m, ignore, source);
	return UNLIKELY(m->counters != NULL) ? post_counted(m, NULL, bits, ignore, source)
	                                     : post(m, NULL, bits, ignore, source);
}

RARE int queue_message_rarely(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	queue_message(m, e, bits, source);
	if (m->counters != NULL && mbmatch_is_unexpected(e)) {
		count_append(&m->counters->unexpected, m->unexpected_length);
	}
	return mbmatch_is_unexpected(e);
}

int mbmatch_queue_message(mbmatch_t *m, message *e, uint64_t bits, uint32_t source)
{
	CHECK_ARRIVE(m, e, bits, source);
	if (UNLIKELY(m->indexes != NULL || m->counters != NULL || m->unexpected_length >= m->limit)) {
		return queue_message_rarely(m, e, bits, source);
	}
	append_message(m, e, bits, source);
	return 1;
}

void mbmatch_queue_receive(mbmatch_t *m, receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	CHECK_POST(m, r, bits, ignore, source);
	queue_receive(m, r, bits, ignore, source);
	if (UNLIKELY(m->counters != NULL)) {
		count_append(&m->counters->posted, m->posted_length);
	}
}

receive *mbmatch_find_receive(mbmatch_t *m, uint64_t bits, uint32_t source)
{
	CHECK_MATCHER(m);
	struct mbmatch_index *x = receives_index(m);
	entry *from = m->posted.next;
	if (m->counters != NULL) {
		count_search_of_receives(m, bits, source);
	}
	if (x != NULL && x->cursor != end_of(&m->posted)) {
		receive *found = find_indexed_receive(m, x->table, bits, source, has_protocol(m)).receive;
		if (found != NULL) {
			served(x, &found->entry, &m->posted);
			return found;
		}
		from = x->cursor->next;
	}
	return search_receives(m, from, bits, source);
}

/* The oldest message of all does not fit. */
RARE message *probe_further(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source)
{
	unsigned kind = kind_of(m, ignore, source);
	if (m->indexes != NULL && kind != MBMATCH_MASKED) {
		struct mbmatch_index *x = &m->indexes->of[MESSAGES + kind];
		if (x->cursor != end_of(&m->unexpected)) {
			struct form form = form_of_messages(m, kind);
			links *leader = *find_key(x->table, form, bits & form.keep, source, 0);
			if (leader != NULL && UNLIKELY(m->key_bits != UINT64_MAX)) {
				leader = fitting_in_group(leader, form, bits, ignore, source);
			}
			if (leader != NULL) {
				served(x, entry_of(leader, form), &m->unexpected);
				return (message *) entry_of(leader, form);
			}
		}
	}
	return search_messages(m, walk_from(m, ignore, source), bits, ignore, source);
}

INLINE message *probe(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source)
{
	message *oldest = mbmatch_first_message(m);
	return oldest == NULL || message_fits(&oldest->entry, bits, ignore, source)
	           ? oldest
	           : probe_further(m, bits, ignore, source);
}

RARE message *probe_counted(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source)
{
	count_search_of_messages(m, bits, ignore, source);
	return probe(m, bits, ignore, source);
}

message *mbmatch_probe(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source)
{
	CHECK_PATTERN(m, ignore, source);
	return UNLIKELY(m->counters != NULL) ? probe_counted(m, bits, ignore, source) : probe(m, bits, ignore, source);
}

int mbmatch_cancel(mbmatch_t *m, receive *r)
{
	CHECK_MATCHER(m);
	if (r->entry.next == NULL) {
		return 0;
	}
	CHECK_QUEUED(&m->posted, m->posted_length, r);
	remove_receive(m, r);
	return 1;
}

int mbmatch_discard(mbmatch_t *m, message *e)
{
	CHECK_MATCHER(m);
	if (e->entry.next == NULL) {
		return 0;
	}
	CHECK_QUEUED(&m->unexpected, m->unexpected_length, e);
	remove_message(m, e);
	return 1;
}

/* Puts a message that left the index of a kind because its source changed back to where its age is. Those that are
 * younger leave the index, unless no other message has its key. */
static void relink_message(mbmatch_t *m, message *e, unsigned kind)
{
	struct mbmatch_index *x = &m->indexes->of[MESSAGES + kind];
	struct form form = form_of_messages(m, kind);
	if (*find_key_of(x->table, form, &e->entry) == NULL) {
		entry *cursor = x->cursor;
		link_entry(m, x, form, &e->entry);
		x->cursor = cursor;
		return;
	}
	e->entry.state &= ~form.state;
	while (x->cursor != &e->entry) {
		entry *younger = x->cursor;
		unlink_entry(x->table, form, younger);
		younger->state &= ~form.state;
		x->cursor = younger->prev;
	}
	x->cursor = e->entry.prev;
}

receive *mbmatch_change_source(mbmatch_t *m, message *e, uint32_t source)
{
	CHECK_MATCHER(m);
	CHECK_QUEUED(&m->unexpected, m->unexpected_length, e);
	receive *found = mbmatch_take_receive(m, e->entry.bits, source);
	if (found != NULL) {
		remove_message(m, e);
		return found;
	}
	for (unsigned kind = 0; kind < 4; kind += 2) {
		if (e->entry.state & 1u << kind) {
			unlink_entry(m->indexes->of[MESSAGES + kind].table, form_of_messages(m, kind), &e->entry);
		}
	}
	e->entry.source = source;
	for (unsigned kind = 0; kind < 4; kind += 2) {
		if (e->entry.state & 1u << kind) {
			relink_message(m, e, kind);
		}
	}
	return NULL;
}

size_t mbmatch_remove_receives(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source,
                               void (*removed)(void *context, receive *r), void *context)
{
	size_t count = 0;
	CHECK_MATCHER(m);
	for (receive *r = mbmatch_first_receive(m), *next; r != NULL; r = next) {
		next = mbmatch_next_receive(m, r);
		if ((~r->compare & ~ignore) == 0 && message_fits(&r->entry, bits, ignore, source)) {
			remove_receive(m, r);
			count++;
			if (removed != NULL) {
				removed(context, r);
			}
		}
	}
	return count;
}

size_t mbmatch_remove_messages(mbmatch_t *m, uint64_t bits, uint64_t ignore, uint32_t source,
                               void (*removed)(void *context, message *e), void *context)
{
	size_t count = 0;
	CHECK_MATCHER(m);
	for (message *e = mbmatch_first_message(m), *next; e != NULL; e = next) {
		next = mbmatch_next_message(m, e);
		if (message_fits(&e->entry, bits, ignore, source)) {
			remove_message(m, e);
			count++;
			if (removed != NULL) {
				removed(context, e);
			}
		}
	}
	return count;
}
