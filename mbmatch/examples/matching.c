/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How an MPI library uses mbmatch: communicator, source and tag in the match bits, requests as user pointers, wildcards,
 * probe and cancel. Checks every answer; prints what it did and exits with 0 if all were right.
 */
#include <mbmatch.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Stands for the request object of an MPI library. */
struct request {
	int number;
	mbmatch_handle_t handle;
};

enum { ANY_SOURCE = -1, ANY_TAG = -2 };

/* The context of the communicator above, the tag below: the mapping of the README. */
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

static int post(mbmatch_t *matcher, struct request *request, int source, int tag, mbmatch_message_t *message)
{
	mbmatch_pattern_t pattern = pattern_of(3, source, tag);
	return mbmatch_post(matcher, &pattern, request, message, &request->handle);
}

static int arrive(mbmatch_t *matcher, struct request *message, uint32_t source, int tag, struct request **receive)
{
	mbmatch_envelope_t envelope = { .bits = bits_of(3, tag), .source = source };
	void *user = NULL;
	int code = mbmatch_arrive(matcher, &envelope, message, &user, &message->handle);
	if (code == MBMATCH_MATCHED)
		*receive = (struct request *)user;
	return code;
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

	int code = mbmatch_create(structure, &matcher);
	if (code != MBMATCH_NONE) {
		fprintf(stderr, "%s: %s\n", structure ? structure : "adaptive", mbmatch_strerror(code));
		return 1;
	}
	CHECK(mbmatch_reserve(matcher, 1000, 1000) == MBMATCH_NONE);

	/* Two receives accept the message; the older one has it, wildcard or not. */
	CHECK(post(matcher, &receives[0], ANY_SOURCE, 7, &message) == MBMATCH_NONE);
	CHECK(post(matcher, &receives[1], 2, 7, &message) == MBMATCH_NONE);
	CHECK(post(matcher, &receives[2], 2, ANY_TAG, &message) == MBMATCH_NONE);
	CHECK(arrive(matcher, &messages[0], 2, 7, &receive) == MBMATCH_MATCHED && receive == &receives[0]);

	/* A receive that is taken back matches nothing any more, and is taken back only once. */
	CHECK(mbmatch_cancel(matcher, receives[1].handle, &user) == MBMATCH_MATCHED && user == &receives[1]);
	CHECK(mbmatch_cancel(matcher, receives[1].handle, &user) == MBMATCH_NONE);
	CHECK(arrive(matcher, &messages[1], 2, 7, &receive) == MBMATCH_MATCHED && receive == &receives[2]);

	/* Messages that nobody waits for: found by a probe, taken by a matched probe and by a receive. */
	CHECK(arrive(matcher, &messages[2], 5, 8, &receive) == MBMATCH_NONE);
	CHECK(arrive(matcher, &messages[3], 5, 9, &receive) == MBMATCH_NONE);
	mbmatch_pattern_t pattern = pattern_of(3, 5, ANY_TAG);
	CHECK(mbmatch_probe(matcher, &pattern, &message) == MBMATCH_MATCHED && message.user == &messages[2]);
	CHECK(mbmatch_mprobe(matcher, &pattern, &message) == MBMATCH_MATCHED && message.user == &messages[2]);
	CHECK(post(matcher, &receives[3], ANY_SOURCE, ANY_TAG, &message) == MBMATCH_MATCHED);
	CHECK(message.user == &messages[3] && message.envelope.source == 5 && message.envelope.bits == bits_of(3, 9));
	CHECK(mbmatch_probe(matcher, &pattern, &message) == MBMATCH_NONE);

	/* What makes no sense is a code, and harms nothing. */
	CHECK(mbmatch_post(matcher, NULL, NULL, NULL, NULL) == MBMATCH_INVALID);
	CHECK(mbmatch_cancel(matcher, 12345, NULL) == MBMATCH_NONE);

	CHECK(mbmatch_lengths(matcher, &posted, &unexpected) == MBMATCH_NONE && posted == 0 && unexpected == 0);
	mbmatch_destroy(matcher);
	printf("%s: every answer is right\n", structure ? structure : "adaptive");
	return 0;
}
