/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The matching of Open MPI's ob1 (ompi/mca/pml/ob1/pml_ob1_recvfrag.c and pml_ob1_recvreq.c): for each communicator and
 * source a list of receives and a list of messages, and for each communicator a list of receives from any source, which
 * an arrival merges with that of its source by sequence number. A receive from any source asks the sources one after the
 * other, beginning behind the one that it found last: it does not take the oldest message of all, which MPI does not
 * demand. A communicator is the bits from 32 on, the tag the others. What belongs to fragments that arrive out of
 * sequence is left out.
 */
#define ANY_SENDER
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct item {
	struct item *next, *prev;
};

/* Circular, with an end of its own, and a length. */
struct items {
	struct item end;
	size_t length;
};

typedef struct receive {
	struct item item;
	uint64_t sequence;
	uint32_t tag;
	int any_tag;
} receive_t;

typedef struct message {
	struct item item;
	uint32_t tag;
} message_t;

struct peer {
	struct items receives, messages;
};

struct communicator {
	struct items wild;
	uint64_t sequence;
	struct peer **peer;
	size_t peers, room, last_probed; /* one more than the highest source, and the places of the array */
};

typedef struct {
	struct communicator **communicator;
	size_t communicators;
} matcher_t;

static void matcher_init(matcher_t *m)
{
	m->communicator = NULL;
	m->communicators = 0;
}

static void matcher_destroy(matcher_t *m)
{
	for (size_t k = 0; k < m->communicators; k++) {
		struct communicator *c = m->communicator[k];
		for (size_t p = 0; c != NULL && p < c->peers; p++) {
			free(c->peer[p]);
		}
		if (c != NULL) {
			free(c->peer);
		}
		free(c);
	}
	free(m->communicator);
}

static void make_items(struct items *items)
{
	items->end.next = items->end.prev = &items->end;
	items->length = 0;
}

/* The array with room for `at`, whose new places are NULL. */
static void *with_room(void *array, size_t *count, size_t at)
{
	const size_t room = 2 * at + 16;
	void **grown = realloc(array, room * sizeof(*grown));
	for (size_t k = *count; k < room; k++) {
		grown[k] = NULL;
	}
	*count = room;
	return grown;
}

static __attribute__((noinline)) struct communicator *make_communicator(matcher_t *m, size_t at)
{
	if (at >= m->communicators) {
		m->communicator = with_room(m->communicator, &m->communicators, at);
	}
	struct communicator *c = m->communicator[at] = calloc(1, sizeof(*c));
	make_items(&c->wild);
	return c;
}

static __attribute__((noinline)) struct peer *make_peer(struct communicator *c, size_t at)
{
	if (at >= c->room) {
		c->peer = with_room(c->peer, &c->room, at);
	}
	c->peers = at >= c->peers ? at + 1 : c->peers;
	struct peer *p = c->peer[at] = malloc(sizeof(*p));
	make_items(&p->receives);
	make_items(&p->messages);
	return p;
}

static inline struct communicator *communicator_of(matcher_t *m, uint64_t bits)
{
	const size_t at = bits >> 32;
	struct communicator *c = at < m->communicators ? m->communicator[at] : NULL;
	return c != NULL ? c : make_communicator(m, at);
}

static inline struct peer *peer_of(struct communicator *c, uint32_t source)
{
	struct peer *p = source < c->peers ? c->peer[source] : NULL;
	return p != NULL ? p : make_peer(c, source);
}

static inline void append_item(struct items *items, struct item *new)
{
	new->next = &items->end;
	new->prev = items->end.prev;
	items->end.prev->next = new;
	items->end.prev = new;
	items->length++;
}

static inline void remove_item(struct items *items, struct item *old)
{
	old->prev->next = old->next;
	old->next->prev = old->prev;
	items->length--;
}

static inline message_t *message_of_peer(struct peer *p, uint32_t tag, int any_tag)
{
	for (struct item *at = p->messages.end.next; at != &p->messages.end; at = at->next) {
		message_t *e = (message_t *) (void *) at;
		if (any_tag || e->tag == tag) {
			remove_item(&p->messages, at);
			return e;
		}
	}
	return NULL;
}

static inline message_t *message_of_any(struct communicator *c, uint32_t tag, int any_tag)
{
	for (size_t n = 0, at = c->last_probed + 1; n < c->peers; n++, at++) {
		at = at < c->peers ? at : 0;
		message_t *e = c->peer[at] == NULL ? NULL : message_of_peer(c->peer[at], tag, any_tag);
		if (e != NULL) {
			c->last_probed = at;
			return e;
		}
	}
	return NULL;
}

static inline message_t *matcher_post(matcher_t *m, receive_t *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	struct communicator *c = communicator_of(m, bits);
	struct items *receives = &c->wild;
	message_t *e;
	r->sequence = c->sequence++;
	r->tag = (uint32_t) bits;
	r->any_tag = ignore != 0;
	if (source == UINT32_MAX) {
		e = message_of_any(c, r->tag, r->any_tag);
	} else {
		struct peer *p = peer_of(c, source);
		receives = &p->receives;
		e = message_of_peer(p, r->tag, r->any_tag);
	}
	if (e == NULL) {
		append_item(receives, &r->item);
	}
	return e;
}

static inline receive_t *first_of(struct items *items, struct item *at, uint64_t *sequence)
{
	receive_t *r = at == &items->end ? NULL : (receive_t *) (void *) at;
	*sequence = r == NULL ? UINT64_MAX : r->sequence;
	return r;
}

static inline receive_t *matcher_arrive(matcher_t *m, message_t *e, uint64_t bits, uint32_t source)
{
	struct communicator *c = communicator_of(m, bits);
	struct peer *p = peer_of(c, source);
	const uint32_t tag = (uint32_t) bits;
	uint64_t of_wild, of_specific;
	receive_t *wild = first_of(&c->wild, c->wild.end.next, &of_wild);
	receive_t *specific = first_of(&p->receives, p->receives.end.next, &of_specific);
	/* They are equal only where both lists have ended. */
	while (of_wild != of_specific) {
		const int is_wild = of_wild < of_specific;
		struct items *items = is_wild ? &c->wild : &p->receives;
		receive_t **r = is_wild ? &wild : &specific;
		if ((*r)->any_tag || (*r)->tag == tag) {
			remove_item(items, &(*r)->item);
			return *r;
		}
		*r = first_of(items, (*r)->item.next, is_wild ? &of_wild : &of_specific);
	}
	e->tag = tag;
	append_item(&p->messages, &e->item);
	return NULL;
}
