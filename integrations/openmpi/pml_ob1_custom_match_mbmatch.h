/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Open MPI's matching on mbmatch: the functions that pml/ob1 calls when it is configured
 * --with-pml-ob1-matching=mbmatch.
 *
 * Each communicator has one matcher, for its posted receives (prq) and its unexpected fragments (umq). ob1 searches a
 * queue, decides what it found, and appends later; these are the halves that mbmatch has. Nodes are members of ob1's
 * requests and fragments, so that no function here allocates memory or can fail.
 *
 * What names a member of a request or a fragment is a macro: this header may be read from that of the requests, before
 * their type is complete. The functions know nodes alone.
 *
 * Locks: ob1 holds the communicator's matching_lock in every call but two. It builds a communicator before another
 * thread can see it, and the performance variables read lengths without a lock, as they read those of ob1's own lists.
 *
 * Match bits: the tag, whose sign bit marks the messages of the library itself (collectives). MPI_ANY_TAG ignores all
 * bits but that one, and requires it to be 0. Sequence numbers and out-of-order fragments stay with ob1.
 */
#ifndef PML_OB1_CUSTOM_MATCH_MBMATCH_H
#define PML_OB1_CUSTOM_MATCH_MBMATCH_H

#include "ompi_config.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#include "mbmatch.h"
#pragma GCC visibility pop
#else
#include "mbmatch.h"
#endif

#include "opal/util/output.h"
#include "ompi/mca/pml/ob1/pml_ob1.h"

#define CUSTOM_MATCH_TAG_MASK UINT64_C(0x7fffffff)

_Static_assert((uint32_t) OMPI_ANY_SOURCE == MBMATCH_ANY_SOURCE, "a source is passed on as it is");

typedef mbmatch_t custom_match_prq;
typedef mbmatch_t custom_match_umq;
/* ob1 keeps a pointer to it from a search to the removal. */
typedef mbmatch_message_t custom_match_umq_node;

static inline void custom_match_init(mbmatch_t *matcher)
{
	mbmatch_init(matcher, CUSTOM_MATCH_TAG_MASK, 0, NULL);
}

static inline uint64_t custom_match_bits(int tag)
{
	return OPAL_UNLIKELY(OMPI_ANY_TAG == tag) ? 0 : (uint32_t) tag;
}

static inline uint64_t custom_match_ignore(int tag)
{
	return OPAL_UNLIKELY(OMPI_ANY_TAG == tag) ? CUSTOM_MATCH_TAG_MASK : 0;
}

/* The object of a node that may be NULL. */
static inline void *custom_match_object(void *node, size_t offset)
{
	return NULL == node ? NULL : (char *) node - offset;
}

#define CUSTOM_MATCH_REQUEST(node) custom_match_object(node, offsetof(mca_pml_ob1_recv_request_t, req_match))
#define CUSTOM_MATCH_FRAGMENT(node) custom_match_object(node, offsetof(mca_pml_ob1_recv_frag_t, match))

#ifdef PML_OB1_MBMATCH_FAULT
#include "pml_ob1_custom_match_fault.h"
#else
static inline mbmatch_receive_t *custom_match_take(mbmatch_t *matcher, uint64_t bits, uint32_t source)
{
	return 0 == mbmatch_posted(matcher) ? NULL : mbmatch_take_receive(matcher, bits, source);
}

static inline mbmatch_message_t *custom_match_first_fragment(mbmatch_t *matcher)
{
	return mbmatch_first_message(matcher);
}
#endif

/*
 * Posted receives
 */

#define custom_match_prq_append(queue, request, tag, source) \
	mbmatch_queue_receive(queue, &(request)->req_match, custom_match_bits(tag), custom_match_ignore(tag), \
	                      (uint32_t) (source))

/* The oldest receive that accepts a message, removed; NULL if there is none. */
#define custom_match_prq_find_dequeue_verify(queue, tag, source) \
	CUSTOM_MATCH_REQUEST(custom_match_take(queue, (uint32_t) (tag), (uint32_t) (source)))

/* Whether the receive was still queued: a message may have matched it already. */
#define custom_match_prq_cancel(queue, request) mbmatch_cancel(queue, &(request)->req_match)

static inline int custom_match_prq_size(const custom_match_prq *queue)
{
	return (int) mbmatch_posted(queue);
}

static inline void custom_match_prq_dump(const custom_match_prq *queue)
{
	for (const mbmatch_receive_t *at = mbmatch_first_receive(queue); NULL != at; at = mbmatch_next_receive(queue, at)) {
		opal_output(0, "receive %p: source %d%s, tag %d%s", (const void *) at, (int) at->entry.source,
		            MBMATCH_ANY_SOURCE == at->entry.source ? " (any)" : "", (int) (uint32_t) at->entry.bits,
		            UINT64_MAX != at->compare ? " (any)" : "");
	}
}

/*
 * Unexpected fragments
 */

#define custom_match_umq_append(queue, tag, source, fragment) \
	((void) mbmatch_queue_message(queue, &(fragment)->match, (uint32_t) (tag), (uint32_t) (source)))

/* The oldest fragment that a receive or probe accepts, which stays; `held` names it for custom_match_umq_remove_hold.
 * NULL if there is none. */
static inline custom_match_umq_node *custom_match_umq_hold(custom_match_umq *queue, int tag, int source,
                                                           custom_match_umq_node **held)
{
	if (0 == mbmatch_unexpected(queue)) {
		return NULL;
	}
	*held = mbmatch_probe(queue, custom_match_bits(tag), custom_match_ignore(tag), (uint32_t) source);
	return *held;
}

#define custom_match_umq_find_verify_hold(queue, tag, source, previous, held, index) \
	((void) (previous), (void) (index), CUSTOM_MATCH_FRAGMENT(custom_match_umq_hold(queue, tag, source, held)))

#define custom_match_umq_remove_hold(queue, previous, held, index) \
	((void) (previous), (void) (index), (void) mbmatch_discard(queue, held))

/* Visits of the fragments, oldest first, for the revocation of a communicator. */
#define custom_match_umq_first(queue) CUSTOM_MATCH_FRAGMENT(custom_match_first_fragment(queue))
#define custom_match_umq_next(queue, fragment) CUSTOM_MATCH_FRAGMENT(mbmatch_next_message(queue, &(fragment)->match))
#define custom_match_umq_remove(queue, fragment) ((void) mbmatch_discard(queue, &(fragment)->match))

static inline int custom_match_umq_size(const custom_match_umq *queue)
{
	return (int) mbmatch_unexpected(queue);
}

static inline void custom_match_umq_dump(const custom_match_umq *queue)
{
	for (const mbmatch_message_t *at = mbmatch_first_message(queue); NULL != at; at = mbmatch_next_message(queue, at)) {
		opal_output(0, "message %p: source %d, tag %d", (const void *) at, (int) at->entry.source,
		            (int) (uint32_t) at->entry.bits);
	}
}

#endif
