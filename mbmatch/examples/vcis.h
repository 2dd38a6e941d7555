/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Several matchers, each with a lock, for one communicator: the virtual communication interfaces (VCIs) of MPI
 * libraries, or the endpoints of a provider. All messages of a source arrive at one VCI. A receive that names its source
 * is posted at the VCI of the source. A receive from any source has a node at every VCI, and belongs to the first VCI
 * that claims it. No call holds two locks.
 *
 * MPI's order holds (MPI 4.1, 3.5). Messages of one source are at one VCI, whose matcher keeps their order. A receive
 * that was posted before another one is at each VCI before it, so that a message finds the older one first; if that one
 * is claimed already, another message has it. Receives that threads post at the same time have no order.
 * If tags instead of sources chose the VCI, a receive of any tag would have to know which of two messages at different
 * VCIs was sent first: messages would need sequence numbers for each source, and one that arrives early would have to
 * wait for those before it. MPI libraries therefore spread tags only if the program promises not to use MPI_ANY_TAG.
 */
#ifndef MBMATCH_VCIS_H
#define MBMATCH_VCIS_H

#include <pthread.h>
#include <stdatomic.h>

#include "mbmatch.h"

enum { MAX_VCIS = 16 };

struct vci {
	_Alignas(64) pthread_spinlock_t lock;
	mbmatch_t matcher;
};

struct vcis {
	uint32_t count; /* from 1 to MAX_VCIS */
	struct vci vci[MAX_VCIS];
};

struct vci_message {
	mbmatch_message_t node;
	uint32_t source;
	/* The program's. */
};

struct vci_receive {
	_Atomic(struct vci_message *) message; /* NULL: not matched */
	uint32_t source;
	mbmatch_receive_t node[MAX_VCIS]; /* that of the source's VCI; all, from any source */
};

static inline void vcis_init(struct vcis *v, uint32_t count, uint64_t tag_mask)
{
	v->count = count;
	for (uint32_t k = 0; k < count; k++) {
		pthread_spin_init(&v->vci[k].lock, PTHREAD_PROCESS_PRIVATE);
		mbmatch_init(&v->vci[k].matcher, tag_mask, 0, NULL);
	}
}

static inline void vcis_destroy(struct vcis *v)
{
	for (uint32_t k = 0; k < v->count; k++) {
		mbmatch_destroy(&v->vci[k].matcher);
		pthread_spin_destroy(&v->vci[k].lock);
	}
}

static inline uint32_t vci_of(const struct vcis *v, uint32_t source)
{
	return source % v->count;
}

/* Gives a message to a receive, which only one caller can. */
static inline int vcis_claim(struct vci_receive *r, struct vci_message *e)
{
	struct vci_message *none = NULL;
	return atomic_compare_exchange_strong(&r->message, &none, e);
}

/* Delivers a message. Returns the receive that takes it, or NULL: it waits. */
static inline struct vci_receive *vcis_arrive(struct vcis *v, struct vci_message *e, uint64_t bits, uint32_t source)
{
	const uint32_t k = vci_of(v, source);
	struct vci *vci = &v->vci[k];
	struct vci_receive *taken = NULL;
	e->source = source;
	pthread_spin_lock(&vci->lock);
	for (mbmatch_receive_t *node; (node = mbmatch_arrive(&vci->matcher, &e->node, bits, source)) != NULL;) {
		struct vci_receive *r = MBMATCH_OBJECT(node - k, struct vci_receive, node);
		/* Another VCI may have claimed it, whose message it then has: the next one is tried. */
		if (vcis_claim(r, e)) {
			taken = r;
			break;
		}
	}
	pthread_spin_unlock(&vci->lock);
	return taken;
}

/* Searches one VCI, and queues the receive there if no message fits. Returns whether it is matched, here or elsewhere. */
static inline int vcis_post_at(struct vcis *v, uint32_t k, struct vci_receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	struct vci *vci = &v->vci[k];
	int matched = 0;
	pthread_spin_lock(&vci->lock);
	mbmatch_message_t *node = mbmatch_probe(&vci->matcher, bits, ignore, source);
	if (node != NULL) {
		/* If another VCI has claimed the receive since it was posted there, the message stays. */
		matched = 1;
		if (vcis_claim(r, MBMATCH_OBJECT(node, struct vci_message, node))) {
			mbmatch_discard(&vci->matcher, node);
		}
	} else {
		mbmatch_queue_receive(&vci->matcher, &r->node[k], bits, ignore, source);
		matched = atomic_load(&r->message) != NULL;
	}
	pthread_spin_unlock(&vci->lock);
	return matched;
}

/* Posts a receive. `r` must not be freed before vcis_finish. */
static inline void vcis_post(struct vcis *v, struct vci_receive *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	atomic_store(&r->message, NULL);
	r->source = source;
	if (source != MBMATCH_ANY_SOURCE) {
		vcis_post_at(v, vci_of(v, source), r, bits, ignore, source);
		return;
	}
	for (uint32_t k = 0; k < v->count; k++) {
		r->node[k].entry.next = NULL;
	}
	for (uint32_t k = 0; k < v->count && !vcis_post_at(v, k, r, bits, ignore, source); k++) {
	}
}

static inline struct vci_message *vcis_test(struct vci_receive *r)
{
	return atomic_load(&r->message);
}

/* Takes the nodes of a matched receive from any source out of the other VCIs. Called by the thread that posted it. */
static inline void vcis_finish(struct vcis *v, struct vci_receive *r)
{
	for (uint32_t k = 0; r->source == MBMATCH_ANY_SOURCE && k < v->count; k++) {
		pthread_spin_lock(&v->vci[k].lock);
		mbmatch_cancel(&v->vci[k].matcher, &r->node[k]);
		pthread_spin_unlock(&v->vci[k].lock);
	}
}

#endif
