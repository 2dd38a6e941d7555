/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How an MPI library uses mbmatch: communicator and tag in the match bits, requests as user pointers, wildcards, probe
 * and cancel. Checks every result and exits with 0 if all are right.
 */
#include <mbmatch.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Stands for the request object of an MPI library. */
struct request {
	int number;
	mbmatch_handle_t handle;
};

enum { ANY_SOURCE = -1, ANY_TAG = -2 };

/* The context of the communicator in the high bits, the tag in the low 32: the mapping in README.md. */
static uint64_t bits_of(uint32_t context, int tag)
{
	return (uint64_t)context << 33 | (uint32_t)tag;
}

static mbmatch_pattern_t pattern_of(uint32_t context, int source, int tag)
{
	mbmatch_pattern_t pattern = {
		.bits = bits_of(context, tag == ANY_TAG ? 0 : tag),
		.ignore = tag == ANY_TAG ? UINT32_MAX : 0,
		.source = source == ANY_SOURCE ? 0 : (uint32_t)source,
		.any_source = source == ANY_SOURCE,
	};
	return pattern;
}

static mbmatch_status_t post(mbmatch_t *matcher, struct request *request, int source, int tag,
                             mbmatch_message_t *message)
{
	mbmatch_pattern_t pattern = pattern_of(3, source, tag);
	return mbmatch_post(matcher, &pattern, request, message, &request->handle);
}

static mbmatch_status_t arrive(mbmatch_t *matcher, struct request *message, uint32_t source, int tag,
                               struct request **receive)
{
	mbmatch_envelope_t envelope = { .bits = bits_of(3, tag), .source = source };
	void *user = NULL;
	mbmatch_status_t status = mbmatch_arrive(matcher, &envelope, message, &user, &message->handle);
	if (status == MBMATCH_MATCHED)
		*receive = (struct request *)user;
	return status;
}

static int message_of_failed(void *failed, const mbmatch_queued_message_t *queued)
{
	return queued->message.envelope.source == *(uint32_t *)failed ? MBMATCH_VISIT_REMOVE : MBMATCH_VISIT_KEEP;
}

static int receive_of_failed(void *failed, const mbmatch_queued_receive_t *queued)
{
	const mbmatch_pattern_t *pattern = &queued->pattern;

	return !pattern->any_source && pattern->source == *(uint32_t *)failed ? MBMATCH_VISIT_REMOVE : MBMATCH_VISIT_KEEP;
}

int main(int argc, char **argv)
{
	const char *structure = argc > 1 ? argv[1] : NULL;
	struct request receives[4] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 } };
	struct request messages[4] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 } };
	struct request *receive = NULL;
	mbmatch_message_t message;
	mbmatch_t *matcher;
	void *user = NULL;
	size_t posted, unexpected;

	/* A program that runs with another version of the shared library may find other statuses. */
	CHECK(mbmatch_version() == MBMATCH_VERSION);

	mbmatch_status_t status = mbmatch_create(structure, &matcher);
	if (status != MBMATCH_OK) {
		fprintf(stderr, "%s: %s\n", structure ? structure : "adaptive", mbmatch_strerror(status));
		return 1;
	}
	CHECK(mbmatch_reserve(matcher, 1000, 1000) == MBMATCH_OK);

	/* Three receives accept the message. The oldest takes it, wildcards or not. */
	CHECK(post(matcher, &receives[0], ANY_SOURCE, 7, &message) == MBMATCH_QUEUED);
	CHECK(post(matcher, &receives[1], 2, 7, &message) == MBMATCH_QUEUED);
	CHECK(post(matcher, &receives[2], 2, ANY_TAG, &message) == MBMATCH_QUEUED);
	CHECK(arrive(matcher, &messages[0], 2, 7, &receive) == MBMATCH_MATCHED && receive == &receives[0]);

	/* A cancelled receive matches nothing, and its handle is stale. */
	CHECK(mbmatch_cancel(matcher, receives[1].handle, &user) == MBMATCH_OK && user == &receives[1]);
	CHECK(mbmatch_cancel(matcher, receives[1].handle, &user) == MBMATCH_STALE);
	CHECK(arrive(matcher, &messages[1], 2, 7, &receive) == MBMATCH_MATCHED && receive == &receives[2]);

	/* Unexpected messages: found by a probe, taken by a matched probe and by a receive. */
	CHECK(arrive(matcher, &messages[2], 5, 8, &receive) == MBMATCH_QUEUED);
	CHECK(arrive(matcher, &messages[3], 5, 9, &receive) == MBMATCH_QUEUED);
	mbmatch_pattern_t pattern = pattern_of(3, 5, ANY_TAG);
	CHECK(mbmatch_probe(matcher, &pattern, &message, NULL) == MBMATCH_MATCHED && message.user == &messages[2]);
	CHECK(mbmatch_mprobe(matcher, &pattern, &message) == MBMATCH_MATCHED && message.user == &messages[2]);
	CHECK(post(matcher, &receives[3], ANY_SOURCE, ANY_TAG, &message) == MBMATCH_MATCHED);
	CHECK(message.user == &messages[3] && message.envelope.source == 5 && message.envelope.bits == bits_of(3, 9));
	CHECK(mbmatch_probe(matcher, &pattern, &message, NULL) == MBMATCH_NO_MATCH);

	/* A message is matched before anything is allocated for it, and queued afterwards; so is a receive. */
	mbmatch_envelope_t envelope = { bits_of(3, 8), 5 };
	mbmatch_handle_t handle;
	CHECK(mbmatch_take_receive(matcher, &envelope, &user) == MBMATCH_NO_MATCH);
	CHECK(mbmatch_queue_message(matcher, &envelope, &messages[0], &handle) == MBMATCH_QUEUED);
	pattern = pattern_of(3, 6, 8);
	CHECK(mbmatch_mprobe(matcher, &pattern, &message) == MBMATCH_NO_MATCH);
	CHECK(mbmatch_queue_receive(matcher, &pattern, &receives[0], &receives[0].handle) == MBMATCH_QUEUED);

	/* Process 5 has failed: its messages are removed, and the receives that name it. */
	uint32_t failed = 5;
	size_t removed;
	CHECK(mbmatch_visit_messages(matcher, message_of_failed, &failed, &removed) == MBMATCH_OK && removed == 1);
	CHECK(mbmatch_visit_receives(matcher, receive_of_failed, &failed, &removed) == MBMATCH_OK && removed == 0);
	CHECK(mbmatch_discard(matcher, handle, NULL) == MBMATCH_STALE);
	CHECK(mbmatch_cancel(matcher, receives[0].handle, NULL) == MBMATCH_OK);

	/* Invalid arguments and stale handles are refused without harm. */
	CHECK(mbmatch_post(matcher, NULL, NULL, NULL, NULL) == MBMATCH_INVALID);
	CHECK(mbmatch_cancel(matcher, 12345, NULL) == MBMATCH_STALE);

	CHECK(mbmatch_lengths(matcher, &posted, &unexpected) == MBMATCH_OK && posted == 0 && unexpected == 0);
	mbmatch_destroy(matcher);
	printf("%s: all checks passed\n", structure ? structure : "adaptive");
	return 0;
}
