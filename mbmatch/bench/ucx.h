/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The algorithm of UCX's tag matching (src/ucp/tag/tag_match.inl and .c): queues of exact receives in 1021 buckets, one
 * queue of all others, both with sequence numbers; messages in 1021 buckets and in a list of all. A search merges a
 * bucket with the queue of the others by sequence number, and one with a mask walks the list of all. UCX has the source
 * in the tag; so has this, in bits 32 to 55, as UCX's MPI users do. What belongs to offload and fragments is left out.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { PRIME = 1021, SOURCE_SHIFT = 40 };
#define SOURCE_BITS (UINT64_C(0xffffff) << SOURCE_SHIFT)

typedef struct receive {
	struct receive *next;
	uint64_t tag, mask, number;
} receive_t;

struct twin {
	struct twin *next, *prev;
};

typedef struct message {
	struct twin bucket, all;
	uint64_t tag;
} message_t;

struct line {
	receive_t *head, **tail;
	unsigned count;
};

typedef struct {
	uint64_t number;
	struct line others;
	struct line *posted;
	struct twin *unexpected;
	struct twin all;
} matcher_t;

static inline size_t bucket_of_tag(uint64_t tag)
{
	return ((uint32_t) tag % PRIME) ^ ((uint32_t) (tag >> 32) % PRIME);
}

static void matcher_init(matcher_t *m)
{
	m->number = 0;
	m->posted = calloc(1024, sizeof(*m->posted));
	m->unexpected = calloc(1024, sizeof(*m->unexpected));
	for (int k = 0; k < 1024; k++) {
		m->posted[k].tail = &m->posted[k].head;
		m->unexpected[k].next = m->unexpected[k].prev = &m->unexpected[k];
	}
	m->others.head = NULL;
	m->others.tail = &m->others.head;
	m->others.count = 0;
	m->all.next = m->all.prev = &m->all;
}

static void matcher_destroy(matcher_t *m)
{
	free(m->posted);
	free(m->unexpected);
}

static inline uint64_t tag_of(uint64_t bits, uint32_t source)
{
	return bits ^ (uint64_t) source << SOURCE_SHIFT;
}

static inline void insert(struct twin *at, struct twin *new)
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

static inline void delete_from(struct line *line, receive_t **from)
{
	receive_t *r = *from;
	*from = r->next;
	if (line->tail == &r->next) {
		line->tail = from;
	}
	line->count--;
}

static inline message_t *matcher_post(matcher_t *m, receive_t *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	const uint64_t tag = tag_of(bits, source == UINT32_MAX ? 0 : source);
	const uint64_t mask = ~(ignore | (source == UINT32_MAX ? SOURCE_BITS : 0));
	if (m->all.next != &m->all) {
		if (mask == UINT64_MAX) {
			struct twin *end = &m->unexpected[bucket_of_tag(tag)];
			for (struct twin *at = end->next; at != end; at = at->next) {
				message_t *e = (message_t *) (void *) ((char *) at - offsetof(message_t, bucket));
				if (e->tag == tag) {
					take_out(&e->bucket);
					take_out(&e->all);
					return e;
				}
			}
		} else {
			for (struct twin *at = m->all.next; at != &m->all; at = at->next) {
				message_t *e = (message_t *) (void *) ((char *) at - offsetof(message_t, all));
				if (((e->tag ^ tag) & mask) == 0) {
					take_out(&e->bucket);
					take_out(&e->all);
					return e;
				}
			}
		}
	}
	r->tag = tag;
	r->mask = mask;
	r->number = m->number++;
	struct line *line = mask == UINT64_MAX ? &m->posted[bucket_of_tag(tag)] : &m->others;
	r->next = NULL;
	*line->tail = r;
	line->tail = &r->next;
	line->count++;
	return NULL;
}

static __attribute__((noinline)) receive_t *search_both(matcher_t *m, struct line *line, uint64_t tag)
{
	receive_t **one = &line->head, **other = &m->others.head;
	for (;;) {
		const uint64_t first = *one ? (*one)->number : UINT64_MAX, second = *other ? (*other)->number : UINT64_MAX;
		if (first == second) {
			return NULL;
		}
		receive_t ***from = first < second ? &one : &other, *r = **from;
		if (((r->tag ^ tag) & r->mask) == 0) {
			delete_from(first < second ? line : &m->others, *from);
			return r;
		}
		*from = &r->next;
	}
}

static inline receive_t *matcher_arrive(matcher_t *m, message_t *e, uint64_t bits, uint32_t source)
{
	const uint64_t tag = tag_of(bits, source);
	struct line *line = &m->posted[bucket_of_tag(tag)];
	if (m->others.head != NULL) {
		receive_t *r = search_both(m, line, tag);
		if (r != NULL) {
			return r;
		}
	} else {
		for (receive_t **from = &line->head, *r; (r = *from) != NULL; from = &r->next) {
			if (r->tag == tag) {
				delete_from(line, from);
				return r;
			}
		}
	}
	e->tag = tag;
	insert(&m->unexpected[bucket_of_tag(tag)], &e->bucket);
	insert(&m->all, &e->all);
	return NULL;
}
