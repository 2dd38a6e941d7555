/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The matching of libfabric's providers (prov/util/src/util_srx.c): a queue of receives and one of messages for each
 * source, and a queue of receives from any source, with sequence numbers. An arrival searches the queue of its source,
 * then the other as far as it is older than what was found. A receive from any source asks the sources that have
 * messages, in the order in which they began to: it does not take the oldest message of all, which libfabric does not
 * promise. Queues are singly linked. Receives of several messages and untagged ones are left out.
 */
#define ANY_SENDER
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct item {
	struct item *next;
};

struct line {
	struct item *head, *tail;
};

typedef struct receive {
	struct item item;
	uint64_t tag, ignore, sequence;
} receive_t;

typedef struct message {
	struct item item;
	uint64_t tag;
} message_t;

struct twin {
	struct twin *next, *prev;
};

/* The messages of a source, which is in a list while there are any. */
struct peer {
	struct twin active;
	struct line messages;
	size_t count;
};

/* An array in chunks: the place of a number never moves. */
enum { CHUNK = 1024, CHUNKS = 1024 };

struct source {
	struct line receives;
	struct peer peer;
};

typedef struct {
	struct source *chunk[CHUNKS];
	struct line any;
	struct twin active;
	uint64_t sequence;
} matcher_t;

static void matcher_init(matcher_t *m)
{
	*m = (matcher_t){.sequence = 0};
	m->active.next = m->active.prev = &m->active;
}

static void matcher_destroy(matcher_t *m)
{
	for (int k = 0; k < CHUNKS; k++) {
		free(m->chunk[k]);
	}
}

static inline struct source *source_at(matcher_t *m, uint32_t source)
{
	struct source **chunk = &m->chunk[source / CHUNK];
	if (__builtin_expect(*chunk == NULL, 0)) {
		*chunk = calloc(CHUNK, sizeof(**chunk));
	}
	return &(*chunk)[source % CHUNK];
}

static inline void append_item(struct line *line, struct item *new)
{
	new->next = NULL;
	if (line->head == NULL) {
		line->head = new;
	} else {
		line->tail->next = new;
	}
	line->tail = new;
}

static inline void remove_item(struct line *line, struct item *old, struct item *before)
{
	if (before != NULL) {
		before->next = old->next;
	} else {
		line->head = old->next;
	}
	if (old->next == NULL) {
		line->tail = before;
	}
}

static inline int tags_match(uint64_t tag, uint64_t ignore, uint64_t other)
{
	return ((tag ^ other) & ~ignore) == 0;
}

static inline message_t *message_of_peer(struct peer *p, uint64_t tag, uint64_t ignore)
{
	for (struct item *at = p->messages.head, *before = NULL; at != NULL; before = at, at = at->next) {
		message_t *e = (message_t *) (void *) at;
		if (tags_match(tag, ignore, e->tag)) {
			remove_item(&p->messages, at, before);
			if (--p->count == 0) {
				p->active.prev->next = p->active.next;
				p->active.next->prev = p->active.prev;
			}
			return e;
		}
	}
	return NULL;
}

static inline message_t *matcher_post(matcher_t *m, receive_t *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	struct line *receives = &m->any;
	message_t *e = NULL;
	if (source == UINT32_MAX) {
		for (struct twin *at = m->active.next; at != &m->active && e == NULL; at = at->next) {
			e = message_of_peer((struct peer *) (void *) at, bits, ignore);
		}
	} else {
		struct source *s = source_at(m, source);
		receives = &s->receives;
		e = message_of_peer(&s->peer, bits, ignore);
	}
	if (e == NULL) {
		r->tag = bits;
		r->ignore = ignore;
		r->sequence = m->sequence++;
		append_item(receives, &r->item);
	}
	return e;
}

static inline receive_t *search(const struct line *line, uint64_t tag, uint64_t bound, struct item **before)
{
	*before = NULL;
	for (struct item *at = line->head; at != NULL; *before = at, at = at->next) {
		receive_t *r = (receive_t *) (void *) at;
		if (r->sequence > bound) {
			break;
		}
		if (tags_match(r->tag, r->ignore, tag)) {
			return r;
		}
	}
	return NULL;
}

static inline receive_t *matcher_arrive(matcher_t *m, message_t *e, uint64_t bits, uint32_t source)
{
	struct source *s = source_at(m, source);
	struct item *before, *before_any;
	receive_t *specific = search(&s->receives, bits, UINT64_MAX, &before);
	receive_t *any = search(&m->any, bits, specific != NULL ? specific->sequence : UINT64_MAX, &before_any);
	if (any != NULL) {
		remove_item(&m->any, &any->item, before_any);
		return any;
	}
	if (specific != NULL) {
		remove_item(&s->receives, &specific->item, before);
		return specific;
	}
	e->tag = bits;
	append_item(&s->peer.messages, &e->item);
	if (s->peer.count++ == 0) {
		s->peer.active.next = &m->active;
		s->peer.active.prev = m->active.prev;
		m->active.prev->next = &s->peer.active;
		m->active.prev = &s->peer.active;
	}
	return NULL;
}
