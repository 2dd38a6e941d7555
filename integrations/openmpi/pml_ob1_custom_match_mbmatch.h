/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Open MPI's matching on mbmatch: the functions that pml/ob1 calls when it is built with a custom matching engine.
 *
 * Each communicator has a queue of posted receives (prq) and a queue of unexpected fragments (umq). ob1 never asks for
 * a search of one and an entry in the other in one step: it searches a queue, decides what it found, and appends later.
 * These are the halves that mbmatch offers, so that one matcher for both queues would save no search; each queue has a
 * matcher of its own, which does not exist before it is needed.
 *
 * Short queues: up to CUSTOM_MATCH_SHORT entries are kept here, side by side in order of age, and searched inline; a
 * call costs more than such a search. One more moves all of them to the matcher, which then has the whole queue until
 * it is empty: at any time, either the short entries or the matcher's are the queue. What a queue needs beyond its
 * short entries is in functions that are not inlined, so that ob1's own code keeps its registers.
 *
 * Locks: ob1 holds the communicator's matching_lock in every call but two. It builds a communicator before another
 * thread can see it, and the performance variables read lengths without a lock, as they read those of ob1's own lists.
 *
 * Match bits: the tag, whose sign bit marks the messages of the library itself (collectives). MPI_ANY_TAG ignores all
 * bits but that one, and requires it to be 0. Sequence numbers and out-of-order fragments stay with ob1.
 */
#ifndef PML_OB1_CUSTOM_MATCH_MBMATCH_H
#define PML_OB1_CUSTOM_MATCH_MBMATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

#ifndef CUSTOM_MATCH_SHORT
#define CUSTOM_MATCH_SHORT 64
#endif

/* Source in the high half, tag in the low half: the envelope of a message, or what a receive compares of it. */
typedef struct custom_match_receive {
	uint64_t key;  /* bits that are ignored are 0 */
	uint64_t care; /* bits that are compared */
	void *request;
} custom_match_receive;

typedef struct custom_match_message {
	uint64_t key;
	void *fragment;
} custom_match_message;

/* Short entries are those from `head` to `tail`, and an empty queue has both at the first place. While the matcher has
 * the queue, both are at the end, so that a search finds no short entry and an append no place. */
typedef struct custom_match_prq {
	custom_match_receive *head, *tail;
	size_t queued; /* entries in the matcher */
	mbmatch_t *matcher;
	custom_match_receive receives[CUSTOM_MATCH_SHORT];
} custom_match_prq;

typedef struct custom_match_umq {
	custom_match_message *head, *tail;
	size_t queued;
	mbmatch_t *matcher;
	custom_match_message messages[CUSTOM_MATCH_SHORT];
} custom_match_umq;

/* ob1 keeps a pointer to it from a search to the removal; here it is the place of a short message, or the handle of one
 * in the matcher. */
typedef struct custom_match_umq_node custom_match_umq_node;

#ifdef __GNUC__
#define CUSTOM_MATCH_RARE __attribute__((noinline, unused))
#define CUSTOM_MATCH_ROLLED _Pragma("GCC unroll 1")
#else
#define CUSTOM_MATCH_RARE
#define CUSTOM_MATCH_ROLLED
#endif

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

static inline uint64_t custom_match_key(int tag, int source)
{
	return (uint64_t) (uint32_t) source << 32 | (uint32_t) tag;
}

static inline mbmatch_envelope_t custom_match_envelope(uint64_t key)
{
	mbmatch_envelope_t envelope = {.bits = (uint32_t) key, .source = (uint32_t) (key >> 32)};
	return envelope;
}

static inline custom_match_receive custom_match_receive_of(int tag, int source, void *request)
{
	uint64_t care = UINT64_MAX;
	care -= OMPI_ANY_TAG == tag ? MCA_PML_OB1_MBMATCH_ANY_TAG : 0;
	care &= OMPI_ANY_SOURCE == source ? UINT32_MAX : UINT64_MAX;
	custom_match_receive receive = {
	    .key = custom_match_key(OMPI_ANY_TAG == tag ? 0 : tag, source) & care,
	    .care = care,
	    .request = request,
	};
	return receive;
}

static inline int custom_match_accepts(const custom_match_receive *receive, uint64_t key)
{
	return 0 == ((receive->key ^ key) & receive->care);
}

static inline mbmatch_pattern_t custom_match_pattern(const custom_match_receive *receive)
{
	mbmatch_pattern_t pattern = {
	    .bits = (uint32_t) receive->key,
	    .ignore = (uint32_t) ~receive->care,
	    .source = (uint32_t) (receive->key >> 32),
	    .any_source = 0 == receive->care >> 32,
	};
	return pattern;
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
	queue->head = queue->tail = queue->receives;
	return queue;
}

static inline void custom_match_prq_destroy(custom_match_prq *queue)
{
	mbmatch_destroy(queue->matcher);
	free(queue);
}

static inline int custom_match_prq_size(custom_match_prq *queue)
{
	return (int) (queue->queued + (size_t) (queue->tail - queue->head));
}

/* A posted receive is in no list of ob1, so that the links that it has for one are free: one of them has the handle,
 * which a cancel needs. */
static inline void custom_match_prq_queue(custom_match_prq *queue, const custom_match_receive *receive)
{
	mbmatch_pattern_t pattern = custom_match_pattern(receive);
	mbmatch_handle_t handle = 0;
	mbmatch_status_t status =
	    mbmatch_queue_receive(custom_match_matcher(&queue->matcher), &pattern, receive->request, &handle);
	if (OPAL_UNLIKELY(MBMATCH_QUEUED != status)) {
		custom_match_failed("a receive cannot be posted", status);
	}
	((opal_list_item_t *) receive->request)->opal_list_prev = (opal_list_item_t *) (uintptr_t) handle;
	queue->queued++;
}

/* An entry left the matcher. */
static inline void custom_match_prq_count_removed(custom_match_prq *queue)
{
	if (0 == --queue->queued) {
		queue->head = queue->tail = queue->receives;
	}
}

/* There is no free place after the short entries: makes one, or moves all of them to the matcher. */
static CUSTOM_MATCH_RARE void custom_match_prq_append_full(custom_match_prq *queue, void *request, int tag, int source)
{
	custom_match_receive receive = custom_match_receive_of(tag, source, request);
	size_t left = (size_t) (queue->tail - queue->head);
	if (0 == queue->queued && CUSTOM_MATCH_SHORT > left) {
		memmove(queue->receives, queue->head, left * sizeof(queue->receives[0]));
		queue->head = queue->receives;
		queue->tail = queue->receives + left;
		*queue->tail++ = receive;
		return;
	}
	for (; queue->head != queue->tail; queue->head++) {
		custom_match_prq_queue(queue, queue->head);
	}
	custom_match_prq_queue(queue, &receive);
}

static inline void custom_match_prq_append(custom_match_prq *queue, void *request, int tag, int source)
{
	if (OPAL_UNLIKELY(queue->receives + CUSTOM_MATCH_SHORT == queue->tail)) {
		custom_match_prq_append_full(queue, request, tag, source);
		return;
	}
	*queue->tail++ = custom_match_receive_of(tag, source, request);
}

/* The shorter side moves. Members are moved one by one: a compiler makes a call of memmove of the copies of whole
 * entries. */
static inline void custom_match_prq_remove(custom_match_prq *queue, custom_match_receive *at)
{
	if (at == queue->head) {
		queue->head++;
	} else if (at - queue->head < queue->tail - at) {
		custom_match_receive *first = queue->head++;
		CUSTOM_MATCH_ROLLED
		for (; at != first; at--) {
			at->key = at[-1].key;
			at->care = at[-1].care;
			at->request = at[-1].request;
		}
	} else {
		custom_match_receive *last = --queue->tail;
		CUSTOM_MATCH_ROLLED
		for (; at != last; at++) {
			at->key = at[1].key;
			at->care = at[1].care;
			at->request = at[1].request;
		}
	}
	if (queue->head == queue->tail) {
		queue->head = queue->tail = queue->receives;
	}
}

static inline int custom_match_prq_cancel(custom_match_prq *queue, void *request)
{
	mbmatch_handle_t handle = (uintptr_t) ((opal_list_item_t *) request)->opal_list_prev;
	for (custom_match_receive *at = queue->head; at != queue->tail; at++) {
		if (at->request == request) {
			custom_match_prq_remove(queue, at);
			return 1;
		}
	}
	if (0 == queue->queued || MBMATCH_OK != mbmatch_cancel(queue->matcher, handle, NULL)) {
		return 0;
	}
	custom_match_prq_count_removed(queue);
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

static CUSTOM_MATCH_RARE void *custom_match_prq_take_queued(custom_match_prq *queue, uint64_t key)
{
	void *request = NULL;
	mbmatch_envelope_t envelope = custom_match_envelope(key);
	mbmatch_status_t status = custom_match_take(queue->matcher, &envelope, &request);
	if (MBMATCH_MATCHED == status) {
		custom_match_prq_count_removed(queue);
		return request;
	}
	if (OPAL_UNLIKELY(MBMATCH_NO_MATCH != status)) {
		custom_match_failed("a search of the posted receives", status);
	}
	return NULL;
}

/* The oldest receive that accepts a message, removed; NULL if there is none. */
static inline void *custom_match_prq_find_dequeue_verify(custom_match_prq *queue, int tag, int source)
{
	uint64_t key = custom_match_key(tag, source);
	custom_match_receive *end = queue->tail;
	CUSTOM_MATCH_ROLLED
	for (custom_match_receive *at = queue->head; at != end; at++) {
		if (custom_match_accepts(at, key)) {
			void *request = at->request;
			custom_match_prq_remove(queue, at);
			return request;
		}
	}
	return 0 == queue->queued ? NULL : custom_match_prq_take_queued(queue, key);
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
	for (const custom_match_receive *at = queue->head; at != queue->tail; at++) {
		mbmatch_queued_receive_t shown = {
		    .user = at->request,
		    .pattern = custom_match_pattern(at),
		};
		(void) custom_match_print_receive(NULL, &shown);
	}
	if (0 != queue->queued) {
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
	queue->head = queue->tail = queue->messages;
	return queue;
}

static inline void custom_match_umq_destroy(custom_match_umq *queue)
{
	mbmatch_destroy(queue->matcher);
	free(queue);
}

static inline int custom_match_umq_size(custom_match_umq *queue)
{
	return (int) (queue->queued + (size_t) (queue->tail - queue->head));
}

static inline void custom_match_umq_queue(custom_match_umq *queue, const custom_match_message *message)
{
	mbmatch_envelope_t envelope = custom_match_envelope(message->key);
	mbmatch_status_t status =
	    mbmatch_queue_message(custom_match_matcher(&queue->matcher), &envelope, message->fragment, NULL);
	if (OPAL_UNLIKELY(MBMATCH_QUEUED != status)) {
		custom_match_failed("an unexpected message cannot be queued", status);
	}
	queue->queued++;
}

/* As custom_match_prq_append_full. */
static CUSTOM_MATCH_RARE void custom_match_umq_append_full(custom_match_umq *queue, int tag, int source, void *fragment)
{
	custom_match_message message = {.key = custom_match_key(tag, source), .fragment = fragment};
	size_t left = (size_t) (queue->tail - queue->head);
	if (0 == queue->queued && CUSTOM_MATCH_SHORT > left) {
		memmove(queue->messages, queue->head, left * sizeof(queue->messages[0]));
		queue->head = queue->messages;
		queue->tail = queue->messages + left;
		*queue->tail++ = message;
		return;
	}
	for (; queue->head != queue->tail; queue->head++) {
		custom_match_umq_queue(queue, queue->head);
	}
	custom_match_umq_queue(queue, &message);
}

static inline void custom_match_umq_append(custom_match_umq *queue, int tag, int source, void *fragment)
{
	if (OPAL_UNLIKELY(queue->messages + CUSTOM_MATCH_SHORT == queue->tail)) {
		custom_match_umq_append_full(queue, tag, source, fragment);
		return;
	}
	queue->tail->key = custom_match_key(tag, source);
	queue->tail->fragment = fragment;
	queue->tail++;
}

static CUSTOM_MATCH_RARE void *custom_match_umq_find_queued(custom_match_umq *queue, int tag, int source,
                                                            custom_match_umq_node **held)
{
	custom_match_receive pattern = custom_match_receive_of(tag, source, NULL);
	mbmatch_pattern_t wanted = custom_match_pattern(&pattern);
	mbmatch_message_t message;
	mbmatch_handle_t handle = 0;
	mbmatch_status_t status = mbmatch_probe(queue->matcher, &wanted, &message, &handle);
	if (MBMATCH_MATCHED == status) {
		*held = (custom_match_umq_node *) (uintptr_t) handle;
		return message.user;
	}
	if (OPAL_UNLIKELY(MBMATCH_NO_MATCH != status)) {
		custom_match_failed("a search of the unexpected messages", status);
	}
	return NULL;
}

/* The oldest fragment that a receive or probe accepts, which stays; `held` names it for custom_match_umq_remove_hold.
 * NULL if there is none. */
static inline void *custom_match_umq_find_verify_hold(custom_match_umq *queue, int tag, int source,
                                                      custom_match_umq_node **previous, custom_match_umq_node **held,
                                                      int *index)
{
	custom_match_message *at = queue->head, *end = queue->tail;
	(void) previous;
	(void) index;
	if (at == end) {
		return OPAL_LIKELY(0 == queue->queued) ? NULL : custom_match_umq_find_queued(queue, tag, source, held);
	}
	if (OPAL_LIKELY(OMPI_ANY_TAG != tag && OMPI_ANY_SOURCE != source)) {
		uint64_t key = custom_match_key(tag, source);
		CUSTOM_MATCH_ROLLED
		for (; at != end; at++) {
			if (at->key == key) {
				*held = (custom_match_umq_node *) at;
				return at->fragment;
			}
		}
		return NULL;
	}
	custom_match_receive pattern = custom_match_receive_of(tag, source, NULL);
	CUSTOM_MATCH_ROLLED
	for (; at != end; at++) {
		if (custom_match_accepts(&pattern, at->key)) {
			*held = (custom_match_umq_node *) at;
			return at->fragment;
		}
	}
	return NULL;
}

static CUSTOM_MATCH_RARE void custom_match_umq_remove_queued(custom_match_umq *queue, custom_match_umq_node *held)
{
	mbmatch_status_t status = mbmatch_discard(queue->matcher, (uintptr_t) held, NULL);
	if (OPAL_UNLIKELY(MBMATCH_OK != status)) {
		custom_match_failed("an unexpected message cannot be removed", status);
	}
	if (0 == --queue->queued) {
		queue->head = queue->tail = queue->messages;
	}
}

static inline void custom_match_umq_remove_hold(custom_match_umq *queue, custom_match_umq_node *previous,
                                                custom_match_umq_node *held, int index)
{
	custom_match_message *at = (custom_match_message *) held;
	(void) previous;
	(void) index;
	if (OPAL_UNLIKELY(0 != queue->queued)) {
		custom_match_umq_remove_queued(queue, held);
		return;
	}
	if (OPAL_LIKELY(at == queue->head)) {
		queue->head++;
	} else if (at - queue->head < queue->tail - at) {
		custom_match_message *first = queue->head++;
		CUSTOM_MATCH_ROLLED
		for (; at != first; at--) {
			at->key = at[-1].key;
			at->fragment = at[-1].fragment;
		}
	} else {
		custom_match_message *last = --queue->tail;
		CUSTOM_MATCH_ROLLED
		for (; at != last; at++) {
			at->key = at[1].key;
			at->fragment = at[1].fragment;
		}
	}
	if (queue->head == queue->tail) {
		queue->head = queue->tail = queue->messages;
	}
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
	for (const custom_match_message *at = queue->head; at != queue->tail; at++) {
		mbmatch_queued_message_t shown = {
		    .message = {.user = at->fragment, .envelope = custom_match_envelope(at->key)},
		};
		(void) custom_match_print_message(NULL, &shown);
	}
	if (0 != queue->queued) {
		(void) mbmatch_visit_messages(queue->matcher, custom_match_print_message, NULL, NULL);
	}
}

#endif
