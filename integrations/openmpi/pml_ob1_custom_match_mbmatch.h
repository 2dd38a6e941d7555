/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Open MPI's matching on mbmatch: the functions that pml/ob1 calls when it is built with a custom matching engine.
 *
 * Each communicator has a queue of posted receives (prq) and a queue of unexpected fragments (umq). ob1 never asks for
 * a search of one and an entry in the other in one step: it searches a queue, decides what it found, and appends later.
 * These are the halves that mbmatch offers, so that one matcher for both queues would save no search; each queue has a
 * matcher of its own, which does not exist before the first entry. Many communicators never queue anything.
 *
 * Locks: ob1 holds the communicator's matching_lock in every call but two. It builds a communicator before another
 * thread can see it, and the performance variables read `length` without a lock, as they read the lengths of ob1's own
 * lists.
 *
 * Match bits: the tag, whose sign bit marks the messages of the library itself (collectives). MPI_ANY_TAG ignores all
 * bits but that one, and requires it to be 0. Sequence numbers and out-of-order fragments stay with ob1.
 */
#ifndef PML_OB1_CUSTOM_MATCH_MBMATCH_H
#define PML_OB1_CUSTOM_MATCH_MBMATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <mbmatch.h>

#include "ompi_config.h"

#include "opal/class/opal_list.h"
#include "opal/util/output.h"
#include "ompi/mca/pml/ob1/pml_ob1.h"
#include "ompi/runtime/ompi_rte.h"

#if OPAL_ENABLE_FT_MPI
#error "pml/ob1 with a custom matching engine does not compile with fault tolerance: configure Open MPI --with-ft=no"
#endif

/* A handle is kept where ob1 has room for a pointer. */
_Static_assert(sizeof(void *) >= sizeof(mbmatch_handle_t), "a handle of mbmatch needs pointers of 64 bits");

#define MCA_PML_OB1_MBMATCH_ANY_TAG UINT64_C(0x7fffffff)

/* `length` spares a call for an empty queue, the most frequent case. */
typedef struct custom_match_prq {
	mbmatch_t *matcher;
	size_t length;
} custom_match_prq;

typedef struct custom_match_umq {
	mbmatch_t *matcher;
	size_t length;
} custom_match_umq;

/* ob1 keeps a pointer to it from a search to the removal; here it is the handle of the fragment. */
typedef struct custom_match_umq_node custom_match_umq_node;

/* ob1 has no way to report that a queue cannot take an entry, and its own queues do not fail. */
static inline void custom_match_failed(const char *what, mbmatch_status_t status)
{
	ompi_rte_abort(-1, "pml/ob1 with mbmatch: %s: %s", what, mbmatch_strerror(status));
}

static inline mbmatch_t *custom_match_matcher(mbmatch_t **matcher)
{
	if (OPAL_UNLIKELY(NULL == *matcher)) {
		mbmatch_status_t status = mbmatch_create(NULL, matcher);
		if (MBMATCH_OK != status) {
			custom_match_failed("no matcher for a communicator", status);
		}
	}
	return *matcher;
}

static inline mbmatch_pattern_t custom_match_pattern(int tag, int source)
{
	mbmatch_pattern_t pattern = {
	    .bits = OMPI_ANY_TAG == tag ? 0 : (uint32_t) tag,
	    .ignore = OMPI_ANY_TAG == tag ? MCA_PML_OB1_MBMATCH_ANY_TAG : 0,
	    .source = OMPI_ANY_SOURCE == source ? 0 : (uint32_t) source,
	    .any_source = OMPI_ANY_SOURCE == source,
	};
	return pattern;
}

static inline mbmatch_envelope_t custom_match_envelope(int tag, int source)
{
	mbmatch_envelope_t envelope = {.bits = (uint32_t) tag, .source = (uint32_t) source};
	return envelope;
}

/*
 * Posted receives
 */

static inline custom_match_prq *custom_match_prq_init(void)
{
	custom_match_prq *queue = (custom_match_prq *) calloc(1, sizeof(*queue));
	if (NULL == queue) {
		custom_match_failed("no queue for a communicator", MBMATCH_NO_MEMORY);
	}
	return queue;
}

static inline void custom_match_prq_destroy(custom_match_prq *queue)
{
	mbmatch_destroy(queue->matcher);
	free(queue);
}

static inline int custom_match_prq_size(custom_match_prq *queue)
{
	return (int) queue->length;
}

/* A posted receive is in no list of ob1, so that the links that it has for one are free: one of them has the handle,
 * which a cancel needs. */
static inline void custom_match_prq_append(custom_match_prq *queue, void *request, int tag, int source)
{
	mbmatch_pattern_t pattern = custom_match_pattern(tag, source);
	mbmatch_handle_t handle = 0;
	mbmatch_status_t status =
	    mbmatch_queue_receive(custom_match_matcher(&queue->matcher), &pattern, request, &handle);
	if (OPAL_UNLIKELY(MBMATCH_QUEUED != status)) {
		custom_match_failed("a receive cannot be posted", status);
	}
	((opal_list_item_t *) request)->opal_list_prev = (opal_list_item_t *) (uintptr_t) handle;
	queue->length++;
}

static inline int custom_match_prq_cancel(custom_match_prq *queue, void *request)
{
	mbmatch_handle_t handle = (uintptr_t) ((opal_list_item_t *) request)->opal_list_prev;
	if (0 == queue->length || MBMATCH_OK != mbmatch_cancel(queue->matcher, handle, NULL)) {
		return 0;
	}
	queue->length--;
	return 1;
}

#ifdef PML_OB1_MBMATCH_FAULT
#include "pml_ob1_custom_match_fault.h"
#else
static inline mbmatch_status_t custom_match_take(mbmatch_t *matcher, const mbmatch_envelope_t *envelope, void **request)
{
	return mbmatch_take_receive(matcher, envelope, request);
}
#endif

/* The oldest receive that accepts a message, removed; NULL if there is none. */
static inline void *custom_match_prq_find_dequeue_verify(custom_match_prq *queue, int tag, int source)
{
	void *request = NULL;
	mbmatch_envelope_t envelope;
	mbmatch_status_t status;

	if (0 == queue->length) {
		return NULL;
	}
	envelope = custom_match_envelope(tag, source);
	status = custom_match_take(queue->matcher, &envelope, &request);
	if (MBMATCH_MATCHED == status) {
		queue->length--;
		return request;
	}
	if (OPAL_UNLIKELY(MBMATCH_NO_MATCH != status)) {
		custom_match_failed("a search of the posted receives", status);
	}
	return NULL;
}

static inline int custom_match_print_receive(void *unused, const mbmatch_queued_receive_t *receive)
{
	(void) unused;
	opal_output(0, "receive %p: source %d%s, tag %d%s", receive->user, (int) receive->pattern.source,
	            receive->pattern.any_source ? " (any)" : "", (int) (uint32_t) receive->pattern.bits,
	            receive->pattern.ignore ? " (any)" : "");
	return MBMATCH_VISIT_KEEP;
}

static inline void custom_match_prq_dump(custom_match_prq *queue)
{
	if (0 != queue->length) {
		(void) mbmatch_visit_receives(queue->matcher, custom_match_print_receive, NULL, NULL);
	}
}

/*
 * Unexpected fragments
 */

static inline custom_match_umq *custom_match_umq_init(void)
{
	custom_match_umq *queue = (custom_match_umq *) calloc(1, sizeof(*queue));
	if (NULL == queue) {
		custom_match_failed("no queue for a communicator", MBMATCH_NO_MEMORY);
	}
	return queue;
}

static inline void custom_match_umq_destroy(custom_match_umq *queue)
{
	mbmatch_destroy(queue->matcher);
	free(queue);
}

static inline int custom_match_umq_size(custom_match_umq *queue)
{
	return (int) queue->length;
}

static inline void custom_match_umq_append(custom_match_umq *queue, int tag, int source, void *fragment)
{
	mbmatch_envelope_t envelope = custom_match_envelope(tag, source);
	mbmatch_status_t status =
	    mbmatch_queue_message(custom_match_matcher(&queue->matcher), &envelope, fragment, NULL);
	if (OPAL_UNLIKELY(MBMATCH_QUEUED != status)) {
		custom_match_failed("an unexpected message cannot be queued", status);
	}
	queue->length++;
}

/* The oldest fragment that a receive or probe accepts, which stays; `held` names it for custom_match_umq_remove_hold.
 * NULL if there is none. */
static inline void *custom_match_umq_find_verify_hold(custom_match_umq *queue, int tag, int source,
                                                      custom_match_umq_node **previous, custom_match_umq_node **held,
                                                      int *index)
{
	mbmatch_pattern_t pattern;
	mbmatch_message_t message;
	mbmatch_handle_t handle = 0;
	mbmatch_status_t status;

	*previous = NULL;
	*index = 0;
	if (0 == queue->length) {
		return NULL;
	}
	pattern = custom_match_pattern(tag, source);
	status = mbmatch_probe(queue->matcher, &pattern, &message, &handle);
	if (MBMATCH_MATCHED == status) {
		*held = (custom_match_umq_node *) (uintptr_t) handle;
		return message.user;
	}
	if (OPAL_UNLIKELY(MBMATCH_NO_MATCH != status)) {
		custom_match_failed("a search of the unexpected messages", status);
	}
	return NULL;
}

static inline void custom_match_umq_remove_hold(custom_match_umq *queue, custom_match_umq_node *previous,
                                                custom_match_umq_node *held, int index)
{
	mbmatch_status_t status = mbmatch_discard(queue->matcher, (uintptr_t) held, NULL);
	(void) previous;
	(void) index;
	if (OPAL_UNLIKELY(MBMATCH_OK != status)) {
		custom_match_failed("an unexpected message cannot be removed", status);
	}
	queue->length--;
}

static inline int custom_match_print_message(void *unused, const mbmatch_queued_message_t *queued)
{
	(void) unused;
	opal_output(0, "message %p: source %d, tag %d", queued->message.user, (int) queued->message.envelope.source,
	            (int) (uint32_t) queued->message.envelope.bits);
	return MBMATCH_VISIT_KEEP;
}

static inline void custom_match_umq_dump(custom_match_umq *queue)
{
	if (0 != queue->length) {
		(void) mbmatch_visit_messages(queue->matcher, custom_match_print_message, NULL, NULL);
	}
}

#endif
