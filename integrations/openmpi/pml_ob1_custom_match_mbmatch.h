/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Open MPI's matching on mbmatch: the functions that pml/ob1 calls when it is built with a custom matching engine.
 *
 * Each communicator has a queue of posted receives (prq) and a queue of unexpected fragments (umq). ob1 never asks for
 * a search of one and an entry in the other in one step: it searches a queue, decides what it found, and appends later.
 * These are the halves that mbmatch offers, so that one matcher for both queues would save no search; each queue has a
 * matcher of its own, which does not exist before it is needed.
 *
 * Short searches: entries are kept here, side by side in order of age, and searched inline, as long as no search passes
 * more than CUSTOM_MATCH_SHORT of them; a call costs more than such a search. A search that passes more moves all of
 * them to the matcher, which then has the whole queue until it is empty: at any time, either the entries here or the
 * matcher's are the queue. A long queue whose entries are taken in order never needs the matcher. What is needed beyond
 * a short search is in functions that are not inlined, so that ob1's own code keeps its registers.
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

/* The entries here are those from `head` to `tail`, in places from `first` to `end`. While the matcher has the queue,
 * both are at the end, so that a search finds no entry here and an append no place. The places are `receives` or, for a
 * longer queue, allocated, and then kept as long as the queue; a queue that is shorter again uses the first ones only.
 */
typedef struct custom_match_prq {
	custom_match_receive *head, *tail, *end;
	size_t queued; /* entries in the matcher */
	mbmatch_t *matcher;
	custom_match_receive *first;
	size_t allocated; /* bytes from there */
	custom_match_receive receives[CUSTOM_MATCH_SHORT];
} custom_match_prq;

typedef struct custom_match_umq {
	custom_match_message *head, *tail, *end;
	size_t queued;
	mbmatch_t *matcher;
	custom_match_message *first;
	size_t allocated;
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

/* Makes room after the `used` bytes of entries at `head`: half of the places at least are free then. Entries go to
 * `first`, where `*allocated` bytes are, if twice as many are enough, and else to a new allocation. Returns where they
 * begin, or NULL without memory. `own` are places that were not allocated. */
static CUSTOM_MATCH_RARE void *custom_match_make_room(void *first, const void *own, const void *head, size_t used,
                                                      size_t *allocated)
{
	void *to = first;
	if (*allocated < 2 * used) {
		to = malloc(2 * used);
		if (NULL == to) {
			return NULL;
		}
		*allocated = 2 * used;
	}
	if (to != head) {
		memmove(to, head, used);
	}
	if (to != first && first != own) {
		free(first);
	}
	return to;
}

/* Whether a search passed more entries than it may here. */
static inline int custom_match_passed(const void *head, const void *at, size_t entry)
{
	return (size_t) ((const char *) at - (const char *) head) > CUSTOM_MATCH_SHORT * entry;
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
	queue->first = queue->head = queue->tail = queue->receives;
	queue->end = queue->receives + CUSTOM_MATCH_SHORT;
	queue->allocated = sizeof(queue->receives);
	return queue;
}

static inline void custom_match_prq_destroy(custom_match_prq *queue)
{
	mbmatch_destroy(queue->matcher);
	if (queue->first != queue->receives) {
		free(queue->first);
	}
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

static CUSTOM_MATCH_RARE void custom_match_prq_move(custom_match_prq *queue)
{
	for (; queue->head != queue->tail; queue->head++) {
		custom_match_prq_queue(queue, queue->head);
	}
	queue->head = queue->tail = queue->end;
}

/* There is no free place after the entries here, or the matcher has the queue, or had it and is empty now. */
static CUSTOM_MATCH_RARE void custom_match_prq_append_full(custom_match_prq *queue, void *request, int tag, int source)
{
	custom_match_receive receive = custom_match_receive_of(tag, source, request);
	if (0 == queue->queued) {
		size_t used = (size_t) ((char *) queue->tail - (char *) queue->head);
		size_t places = 2 * used > sizeof(queue->receives) ? 2 * used : sizeof(queue->receives);
		void *made = custom_match_make_room(queue->first, queue->receives, queue->head, used, &queue->allocated);
		if (NULL != made) {
			queue->first = queue->head = (custom_match_receive *) made;
			queue->tail = (custom_match_receive *) ((char *) made + used);
			queue->end = (custom_match_receive *) ((char *) made + places);
			*queue->tail++ = receive;
			return;
		}
		custom_match_prq_move(queue);
	}
	custom_match_prq_queue(queue, &receive);
}

static inline void custom_match_prq_append(custom_match_prq *queue, void *request, int tag, int source)
{
	if (OPAL_UNLIKELY(queue->end == queue->tail)) {
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
}

static inline int custom_match_prq_cancel(custom_match_prq *queue, void *request)
{
	for (custom_match_receive *at = queue->head; at != queue->tail; at++) {
		if (at->request == request) {
			custom_match_prq_remove(queue, at);
			return 1;
		}
		if (custom_match_passed(queue->head, at, sizeof(*at))) {
			custom_match_prq_move(queue);
			break;
		}
	}
	mbmatch_handle_t handle = (uintptr_t) ((opal_list_item_t *) request)->opal_list_prev;
	if (0 == queue->queued || MBMATCH_OK != mbmatch_cancel(queue->matcher, handle, NULL)) {
		return 0;
	}
	queue->queued--;
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

/* As custom_match_prq_find_dequeue_verify, in the matcher, which gets the queue if it does not have it yet. */
static CUSTOM_MATCH_RARE void *custom_match_prq_take_queued(custom_match_prq *queue, uint64_t key)
{
	void *request = NULL;
	if (0 == queue->queued) {
		custom_match_prq_move(queue);
	}
	mbmatch_envelope_t envelope = custom_match_envelope(key);
	mbmatch_status_t status = custom_match_take(queue->matcher, &envelope, &request);
	if (MBMATCH_MATCHED == status) {
		queue->queued--;
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
	custom_match_receive *at = queue->head, *end = queue->tail;
	CUSTOM_MATCH_ROLLED
	for (; at != end; at++) {
		if (custom_match_accepts(at, key)) {
			void *request = at->request;
			if (OPAL_UNLIKELY(custom_match_passed(queue->head, at, sizeof(*at)))) {
				break;
			}
			custom_match_prq_remove(queue, at);
			return request;
		}
	}
	if (OPAL_LIKELY(0 == queue->queued && !custom_match_passed(queue->head, at, sizeof(*at)))) {
		return NULL;
	}
	return custom_match_prq_take_queued(queue, key);
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
	queue->first = queue->head = queue->tail = queue->messages;
	queue->end = queue->messages + CUSTOM_MATCH_SHORT;
	queue->allocated = sizeof(queue->messages);
	return queue;
}

static inline void custom_match_umq_destroy(custom_match_umq *queue)
{
	mbmatch_destroy(queue->matcher);
	if (queue->first != queue->messages) {
		free(queue->first);
	}
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

static CUSTOM_MATCH_RARE void custom_match_umq_move(custom_match_umq *queue)
{
	for (; queue->head != queue->tail; queue->head++) {
		custom_match_umq_queue(queue, queue->head);
	}
	queue->head = queue->tail = queue->end;
}

/* As custom_match_prq_append_full. */
static CUSTOM_MATCH_RARE void custom_match_umq_append_full(custom_match_umq *queue, int tag, int source, void *fragment)
{
	custom_match_message message = {.key = custom_match_key(tag, source), .fragment = fragment};
	if (0 == queue->queued) {
		size_t used = (size_t) ((char *) queue->tail - (char *) queue->head);
		size_t places = 2 * used > sizeof(queue->messages) ? 2 * used : sizeof(queue->messages);
		void *made = custom_match_make_room(queue->first, queue->messages, queue->head, used, &queue->allocated);
		if (NULL != made) {
			queue->first = queue->head = (custom_match_message *) made;
			queue->tail = (custom_match_message *) ((char *) made + used);
			queue->end = (custom_match_message *) ((char *) made + places);
			*queue->tail++ = message;
			return;
		}
		custom_match_umq_move(queue);
	}
	custom_match_umq_queue(queue, &message);
}

static inline void custom_match_umq_append(custom_match_umq *queue, int tag, int source, void *fragment)
{
	if (OPAL_UNLIKELY(queue->end == queue->tail)) {
		custom_match_umq_append_full(queue, tag, source, fragment);
		return;
	}
	queue->tail->key = custom_match_key(tag, source);
	queue->tail->fragment = fragment;
	queue->tail++;
}

/* As custom_match_umq_find_verify_hold, in the matcher, which gets the queue if it does not have it yet. */
static CUSTOM_MATCH_RARE void *custom_match_umq_find_queued(custom_match_umq *queue, int tag, int source,
                                                            custom_match_umq_node **held)
{
	if (0 == queue->queued) {
		custom_match_umq_move(queue);
	}
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
	if (OPAL_UNLIKELY(OMPI_ANY_TAG == tag)) {
		custom_match_receive pattern = custom_match_receive_of(tag, source, NULL);
		CUSTOM_MATCH_ROLLED
		for (; at != end; at++) {
			if (custom_match_accepts(&pattern, at->key)) {
				goto found;
			}
		}
	} else if (OMPI_ANY_SOURCE == source) {
		CUSTOM_MATCH_ROLLED
		for (; at != end; at++) {
			if ((uint32_t) at->key == (uint32_t) tag) {
				goto found;
			}
		}
	} else {
		uint64_t key = custom_match_key(tag, source);
		if (OPAL_LIKELY(at->key == key)) {
			*held = (custom_match_umq_node *) at;
			return at->fragment;
		}
		CUSTOM_MATCH_ROLLED
		while (++at != end) {
			if (at->key == key) {
				goto found;
			}
		}
	}
	return custom_match_passed(queue->head, end, sizeof(*at)) ? custom_match_umq_find_queued(queue, tag, source, held)
	                                                          : NULL;
found:
	if (OPAL_UNLIKELY(custom_match_passed(queue->head, at, sizeof(*at)))) {
		return custom_match_umq_find_queued(queue, tag, source, held);
	}
	*held = (custom_match_umq_node *) at;
	return at->fragment;
}

static CUSTOM_MATCH_RARE void custom_match_umq_remove_queued(custom_match_umq *queue, custom_match_umq_node *held)
{
	mbmatch_status_t status = mbmatch_discard(queue->matcher, (uintptr_t) held, NULL);
	if (OPAL_UNLIKELY(MBMATCH_OK != status)) {
		custom_match_failed("an unexpected message cannot be removed", status);
	}
	queue->queued--;
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
