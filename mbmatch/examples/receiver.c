/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The receive side of a small message-passing library on mbmatch, in the form that integrating.md describes: a matcher
 * for each communicator, match first and allocate afterwards, a lock around both halves, memory from the library's own
 * allocator, peers that become known late, a failed peer, a freed communicator, and performance variables.
 * Checks every result and exits with 0 if all are right.
 */
#define _POSIX_C_SOURCE 200112L /* posix_memalign */
#include <mbmatch.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

/* --- The library's memory: bytes in use are counted. --- */

static size_t bytes_in_use;

static void *library_allocate(void *context, size_t bytes, size_t alignment)
{
	void *memory = NULL;

	(void)context;
	if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes) != 0)
		return NULL;
	bytes_in_use += bytes;
	return memory;
}

static void library_release(void *context, void *memory, size_t bytes, size_t alignment)
{
	(void)context;
	(void)alignment;
	bytes_in_use -= bytes;
	free(memory);
}

/* --- Objects of the library. The matcher holds pointers to them and never looks inside. --- */

struct request {
	mbmatch_handle_t handle; /* while it is queued */
	char *buffer;
	int source, tag;         /* of the message, once complete */
	int complete, failed;
};

/* An unexpected message: its header and a copy of its payload. */
struct fragment {
	mbmatch_handle_t handle;
	int source, tag;
	char payload[16];
};

struct communicator {
	mbmatch_t *matcher;
	pthread_mutex_t lock; /* held during every call, and between the halves of a post or an arrival */
};

enum { ANY_SOURCE = -1, ANY_TAG = -1 };

/* Users' tags are 0 to 2^31 - 1. The library's own messages have negative tags, whose bit 31 no wildcard ignores, so
 * that a receive of the user with any tag never takes one of them. */
static uint64_t bits_of(int tag)
{
	return (uint32_t)tag;
}

static mbmatch_pattern_t pattern_of(int source, int tag)
{
	mbmatch_pattern_t pattern = {
		.bits = tag == ANY_TAG ? 0 : bits_of(tag),
		.ignore = tag == ANY_TAG ? 0x7fffffff : 0,
		.source = source == ANY_SOURCE ? 0 : (uint32_t)source,
		.any_source = source == ANY_SOURCE,
	};
	return pattern;
}

static void communicator_create(struct communicator *comm, const char *structure)
{
	mbmatch_options_t options = MBMATCH_OPTIONS_DEFAULT;

	options.structure = structure;
	options.allocate = library_allocate;
	options.release = library_release;
	options.limit_bytes = 1 << 20; /* one sender cannot take all memory of the receiver */
	CHECK(mbmatch_create_with(&options, &comm->matcher) == MBMATCH_OK);
	pthread_mutex_init(&comm->lock, NULL);
}

static void complete(struct request *request, const struct fragment *message)
{
	memcpy(request->buffer, message->payload, sizeof message->payload);
	request->source = message->source;
	request->tag = message->tag;
	request->complete = 1;
}

/* A message arrives. Nothing is allocated for it unless it is unexpected. Returns 0 if the receiver has no memory for
 * it: the library then stops reading from the network. */
static int deliver(struct communicator *comm, uint32_t source, int tag, const char *payload)
{
	mbmatch_envelope_t envelope = { .bits = bits_of(tag), .source = source };
	struct fragment arrived = { .source = (int)source, .tag = tag }, *kept;
	mbmatch_status_t status;
	void *receive = NULL;

	strncpy(arrived.payload, payload, sizeof arrived.payload - 1);
	pthread_mutex_lock(&comm->lock);
	status = mbmatch_take_receive(comm->matcher, &envelope, &receive);
	if (status == MBMATCH_NO_MATCH) {
		kept = malloc(sizeof *kept);
		CHECK(kept);
		*kept = arrived;
		status = mbmatch_queue_message(comm->matcher, &envelope, kept, &kept->handle);
		if (status == MBMATCH_NO_MEMORY)
			free(kept);
	}
	pthread_mutex_unlock(&comm->lock);
	if (status == MBMATCH_MATCHED)
		complete(receive, &arrived);
	CHECK(status == MBMATCH_MATCHED || status == MBMATCH_QUEUED || status == MBMATCH_NO_MEMORY);
	return status != MBMATCH_NO_MEMORY;
}

/* A receive is started: an unexpected message is taken, else the receive is queued. */
static void start(struct communicator *comm, struct request *request, int source, int tag)
{
	mbmatch_pattern_t pattern = pattern_of(source, tag);
	mbmatch_message_t message;
	mbmatch_status_t status;

	pthread_mutex_lock(&comm->lock);
	status = mbmatch_post(comm->matcher, &pattern, request, &message, &request->handle);
	pthread_mutex_unlock(&comm->lock);
	CHECK(status == MBMATCH_MATCHED || status == MBMATCH_QUEUED);
	if (status == MBMATCH_MATCHED) {
		complete(request, message.user);
		free(message.user);
	}
}

static int cancel(struct communicator *comm, struct request *request)
{
	mbmatch_status_t status;

	pthread_mutex_lock(&comm->lock);
	status = mbmatch_cancel(comm->matcher, request->handle, NULL);
	pthread_mutex_unlock(&comm->lock);
	return status == MBMATCH_OK;
}

static void fail_request(void *context, void *request)
{
	(void)context;
	((struct request *)request)->failed = 1;
}

static void drop_fragment(void *context, void *fragment)
{
	++*(int *)context;
	free(fragment);
}

/* A process has failed: receives that name it fail, its messages are dropped. */
static int peer_failed(struct communicator *comm, uint32_t peer)
{
	mbmatch_pattern_t all_of_peer = { .ignore = UINT64_MAX, .source = peer };
	int dropped = 0;

	pthread_mutex_lock(&comm->lock);
	CHECK(mbmatch_remove_receives(comm->matcher, &all_of_peer, fail_request, NULL, NULL) == MBMATCH_OK);
	CHECK(mbmatch_remove_messages(comm->matcher, &all_of_peer, drop_fragment, &dropped, NULL) == MBMATCH_OK);
	pthread_mutex_unlock(&comm->lock);
	return dropped;
}

/* The address of a sender has become known: its messages get the number, oldest first. */
static void peer_known(struct communicator *comm, struct fragment **from_unknown, int count, uint32_t peer)
{
	for (int at = 0; at < count; at++) {
		void *receive = NULL, *fragment = NULL;

		pthread_mutex_lock(&comm->lock);
		from_unknown[at]->source = (int)peer;
		mbmatch_status_t status =
			mbmatch_change_source(comm->matcher, from_unknown[at]->handle, peer, &receive, &fragment);
		pthread_mutex_unlock(&comm->lock);
		if (status == MBMATCH_MATCHED) {
			complete(receive, fragment);
			free(fragment);
		}
	}
}

static void communicator_free(struct communicator *comm)
{
	mbmatch_pattern_t all = { .ignore = UINT64_MAX, .any_source = 1 };
	int dropped = 0;

	CHECK(mbmatch_remove_messages(comm->matcher, &all, drop_fragment, &dropped, NULL) == MBMATCH_OK);
	mbmatch_destroy(comm->matcher);
	pthread_mutex_destroy(&comm->lock);
}

/* --- Two threads: one starts receives, one delivers messages. --- */

enum { MESSAGES = 2000 };

static void *deliver_all(void *context)
{
	char payload[16];

	for (int number = 0; number < MESSAGES; number++) {
		snprintf(payload, sizeof payload, "%d", number);
		CHECK(deliver(context, 1, 5, payload));
	}
	return NULL;
}

static void check_threads(struct communicator *comm)
{
	static struct request requests[MESSAGES];
	static char buffers[MESSAGES][16];
	pthread_t sender;

	CHECK(pthread_create(&sender, NULL, deliver_all, comm) == 0);
	for (int number = 0; number < MESSAGES; number++) {
		requests[number].buffer = buffers[number];
		start(comm, &requests[number], number % 3 ? 1 : ANY_SOURCE, number % 5 ? 5 : ANY_TAG);
	}
	CHECK(pthread_join(sender, NULL) == 0);
	/* In the order in which they were sent, whichever thread came first. */
	for (int number = 0; number < MESSAGES; number++)
		CHECK(requests[number].complete && atoi(buffers[number]) == number);
}

int main(int argc, char **argv)
{
	const char *structure = argc > 1 ? argv[1] : NULL;
	char buffers[4][16];
	struct request requests[4];
	struct communicator comm;
	mbmatch_queue_counters_t posted, unexpected;
	struct fragment *unknown[2] = { NULL, NULL };

	memset(requests, 0, sizeof requests);
	for (int number = 0; number < 4; number++)
		requests[number].buffer = buffers[number];
	communicator_create(&comm, structure);
	CHECK(bytes_in_use > 0 && bytes_in_use < 512);
	CHECK(mbmatch_counters(comm.matcher, &posted, &unexpected) == MBMATCH_OFF);
	CHECK(mbmatch_start_counters(comm.matcher) == MBMATCH_OK);

	/* Expected and unexpected; a message of the library itself passes a receive with any tag. */
	start(&comm, &requests[0], ANY_SOURCE, ANY_TAG);
	CHECK(deliver(&comm, 2, -7, "barrier") && !requests[0].complete);
	CHECK(deliver(&comm, 2, 7, "hello") && requests[0].complete && strcmp(buffers[0], "hello") == 0);
	start(&comm, &requests[1], 2, -7);
	CHECK(requests[1].complete && strcmp(buffers[1], "barrier") == 0);
	CHECK(!cancel(&comm, &requests[0]));
	start(&comm, &requests[2], 3, 1);
	CHECK(cancel(&comm, &requests[2]) && !cancel(&comm, &requests[2]));

	/* Messages of a sender whose address is not known yet. */
	start(&comm, &requests[2], 4, 1);
	for (int number = 0; number < 2; number++) {
		mbmatch_envelope_t envelope = { .bits = bits_of(1), .source = MBMATCH_SOURCE_UNKNOWN };

		unknown[number] = calloc(1, sizeof **unknown);
		CHECK(unknown[number]);
		unknown[number]->tag = 1;
		CHECK(mbmatch_arrive(comm.matcher, &envelope, unknown[number], NULL, &unknown[number]->handle) ==
		      MBMATCH_QUEUED);
	}
	peer_known(&comm, unknown, 2, 4);
	CHECK(requests[2].complete && requests[2].source == 4);

	/* It fails: one message was left, and a receive waits for it. */
	start(&comm, &requests[3], 4, 2);
	CHECK(peer_failed(&comm, 4) == 1 && requests[3].failed);

	/* Performance variables. Searches of receives: four arrivals, and two changes of a source. */
	CHECK(mbmatch_counters(comm.matcher, &posted, &unexpected) == MBMATCH_OK);
	CHECK(posted.length == 0 && posted.longest == 1 && posted.appended == 4 && posted.searches == 6);
	CHECK(unexpected.length == 0 && unexpected.longest == 2 && unexpected.appended == 3);
	CHECK(mbmatch_stop_counters(comm.matcher) == MBMATCH_OK);

	check_threads(&comm);
	CHECK(deliver(&comm, 2, 9, "never received"));
	communicator_free(&comm);
	CHECK(bytes_in_use == 0);
	printf("%s: all checks passed\n", structure ? structure : "adaptive");
	return 0;
}
