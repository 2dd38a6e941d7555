/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* An intrusive list for each queue, as MPICH's ch4 and many others have: singly linked, with a pointer to its tail. */
#include <stddef.h>
#include <stdint.h>

typedef struct receive {
	struct receive *next;
	uint64_t bits, ignore;
	uint32_t source;
} receive_t;

typedef struct message {
	struct message *next;
	uint64_t bits;
	uint32_t source;
} message_t;

typedef struct {
	receive_t *posted, **posted_tail;
	message_t *unexpected, **unexpected_tail;
} matcher_t;

static void matcher_init(matcher_t *m)
{
	m->posted = NULL;
	m->posted_tail = &m->posted;
	m->unexpected = NULL;
	m->unexpected_tail = &m->unexpected;
}

static void matcher_destroy(matcher_t *m)
{
	(void) m;
}

static inline message_t *matcher_post(matcher_t *m, receive_t *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	for (message_t **from = &m->unexpected, *e; (e = *from) != NULL; from = &e->next) {
		if (((e->bits ^ bits) & ~ignore) == 0 && (source == UINT32_MAX || e->source == source)) {
			*from = e->next;
			if (e->next == NULL) {
				m->unexpected_tail = from;
			}
			return e;
		}
	}
	r->bits = bits;
	r->ignore = ignore;
	r->source = source;
	r->next = NULL;
	*m->posted_tail = r;
	m->posted_tail = &r->next;
	return NULL;
}

static inline receive_t *matcher_arrive(matcher_t *m, message_t *e, uint64_t bits, uint32_t source)
{
	for (receive_t **from = &m->posted, *r; (r = *from) != NULL; from = &r->next) {
		if (((r->bits ^ bits) & ~r->ignore) == 0 && (r->source == UINT32_MAX || r->source == source)) {
			*from = r->next;
			if (r->next == NULL) {
				m->posted_tail = from;
			}
			return r;
		}
	}
	e->bits = bits;
	e->source = source;
	e->next = NULL;
	*m->unexpected_tail = e;
	m->unexpected_tail = &e->next;
	return NULL;
}
