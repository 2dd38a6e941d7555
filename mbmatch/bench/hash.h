/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Four hash tables of receives, one for each kind of MPI's patterns, whose oldest candidates are compared by a sequence
 * number; messages in one table and in a list of all, which wildcards walk. Chains are doubly linked, and a table doubles
 * at once when it has more entries than buckets. This is the binned matching of the literature, with tables that grow.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct twin {
	struct twin *next, *prev;
};

typedef struct receive {
	struct twin chain;
	uint64_t bits, number;
	uint32_t source, kind;
} receive_t;

typedef struct message {
	struct twin chain, all;
	uint64_t bits;
	uint32_t source;
} message_t;

struct chains {
	struct twin *bucket;
	uint64_t mask, count;
};

typedef struct {
	struct chains posted[4], unexpected;
	struct twin all;
	uint64_t number;
} matcher_t;

static struct twin *make_buckets(uint64_t count)
{
	struct twin *made = malloc(count * sizeof(*made));
	for (uint64_t k = 0; k < count; k++) {
		made[k].next = made[k].prev = &made[k];
	}
	return made;
}

static void matcher_init(matcher_t *m)
{
	for (int k = 0; k < 5; k++) {
		struct chains *c = k < 4 ? &m->posted[k] : &m->unexpected;
		c->bucket = make_buckets(64);
		c->mask = 63;
		c->count = 0;
	}
	m->all.next = m->all.prev = &m->all;
	m->number = 0;
}

static void matcher_destroy(matcher_t *m)
{
	for (int k = 0; k < 4; k++) {
		free(m->posted[k].bucket);
	}
	free(m->unexpected.bucket);
}

static inline uint64_t hash_of_key(uint64_t bits, uint32_t source)
{
	uint64_t h = bits * UINT64_C(0x9e3779b97f4a7c15);
	h = ((h ^ h >> 32) + source) * UINT64_C(0xd6e8feb86659fd93);
	return h >> 32;
}

static inline void insert_last(struct twin *at, struct twin *new)
{
	new->next = at;
	new->prev = at->prev;
	at->prev->next = new;
	at->prev = new;
}

static inline void take_out(struct twin *at)
{
	at->prev->next = at->next;
	at->next->prev = at->prev;
}

static __attribute__((noinline)) void double_buckets(struct chains *c, size_t bits_at, size_t source_at)
{
	struct twin *old = c->bucket;
	const uint64_t count = c->mask + 1;
	c->mask = 2 * count - 1;
	c->bucket = make_buckets(2 * count);
	for (uint64_t k = 0; k < count; k++) {
		for (struct twin *at = old[k].next, *next; at != &old[k]; at = next) {
			const uint64_t bits = *(const uint64_t *) (const void *) ((const char *) at + bits_at);
			const uint32_t source = *(const uint32_t *) (const void *) ((const char *) at + source_at);
			next = at->next;
			insert_last(&c->bucket[hash_of_key(bits, source) & c->mask], at);
		}
	}
	free(old);
}

static inline message_t *matcher_post(matcher_t *m, receive_t *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	const uint32_t kind = (source == UINT32_MAX) + (ignore == 0 ? 0 : 2);
	if (m->all.next != &m->all) {
		message_t *found = NULL;
		if (kind == 0) {
			struct twin *end = &m->unexpected.bucket[hash_of_key(bits, source) & m->unexpected.mask];
			for (struct twin *at = end->next; at != end && found == NULL; at = at->next) {
				message_t *e = (message_t *) (void *) at;
				found = e->bits == bits && e->source == source ? e : NULL;
			}
		} else {
			for (struct twin *at = m->all.next; at != &m->all && found == NULL; at = at->next) {
				message_t *e = (message_t *) (void *) ((char *) at - offsetof(message_t, all));
				found = ((e->bits ^ bits) & ~ignore) == 0 && (source == UINT32_MAX || e->source == source) ? e : NULL;
			}
		}
		if (found != NULL) {
			take_out(&found->chain);
			take_out(&found->all);
			m->unexpected.count--;
			return found;
		}
	}
	struct chains *c = &m->posted[kind];
	r->bits = bits & ~ignore;
	r->source = source;
	r->kind = kind;
	r->number = m->number++;
	insert_last(&c->bucket[hash_of_key(r->bits, source) & c->mask], &r->chain);
	if (++c->count > c->mask) {
		double_buckets(c, offsetof(receive_t, bits), offsetof(receive_t, source));
	}
	return NULL;
}

static inline receive_t *oldest_of(struct chains *c, uint64_t bits, uint32_t source, receive_t *best)
{
	if (c->count != 0) {
		struct twin *end = &c->bucket[hash_of_key(bits, source) & c->mask];
		for (struct twin *at = end->next; at != end; at = at->next) {
			receive_t *r = (receive_t *) (void *) at;
			if (r->bits == bits && r->source == source) {
				return best == NULL || r->number < best->number ? r : best;
			}
		}
	}
	return best;
}

static inline receive_t *matcher_arrive(matcher_t *m, message_t *e, uint64_t bits, uint32_t source)
{
	const uint64_t keep = ~UINT64_C(0xffffffff);
	receive_t *best = oldest_of(&m->posted[0], bits, source, NULL);
	best = oldest_of(&m->posted[1], bits, UINT32_MAX, best);
	best = oldest_of(&m->posted[2], bits & keep, source, best);
	best = oldest_of(&m->posted[3], bits & keep, UINT32_MAX, best);
	if (best != NULL) {
		take_out(&best->chain);
		m->posted[best->kind].count--;
		return best;
	}
	e->bits = bits;
	e->source = source;
	insert_last(&m->unexpected.bucket[hash_of_key(bits, source) & m->unexpected.mask], &e->chain);
	insert_last(&m->all, &e->all);
	if (++m->unexpected.count > m->unexpected.mask) {
		double_buckets(&m->unexpected, offsetof(message_t, bits), offsetof(message_t, source));
	}
	return NULL;
}
