/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A transport in one process, with mbmatch as its matching: messages are copied into a receive's buffer, or into a
 * fragment until a receive is posted. It shows both lifetimes of a node: in a pool (fragments, requests of nonblocking
 * receives), and on the stack (a receive that returns at once). A build: cc transport.c mbmatch.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mbmatch.h"

enum { BYTES = 32, POOL = 64 };

/* A request and a fragment contain their nodes, at any offset. */
struct request {
	char *buffer;
	int done;
	mbmatch_receive_t node;
	struct request *idle;
};

struct fragment {
	mbmatch_message_t node;
	char data[BYTES];
	struct fragment *idle;
};

struct transport {
	mbmatch_t matcher;
	struct request requests[POOL], *idle_requests;
	struct fragment fragments[POOL], *idle_fragments;
};

/* The match bits: a communicator above, the tag in the low 32 bits. MPI_ANY_TAG ignores the tag. */
static uint64_t bits_of(uint32_t communicator, uint32_t tag)
{
	return (uint64_t) communicator << 32 | tag;
}
#define ANY_TAG ((uint64_t) UINT32_MAX)

static void transport_init(struct transport *t)
{
	memset(t, 0, sizeof(*t));
	mbmatch_init(&t->matcher, ANY_TAG, 0, NULL);
	for (int k = 0; k < POOL; k++) {
		t->requests[k].idle = t->idle_requests;
		t->idle_requests = &t->requests[k];
		t->fragments[k].idle = t->idle_fragments;
		t->idle_fragments = &t->fragments[k];
	}
}

/* A message arrives. The two halves: no fragment is taken from the pool unless no receive accepts the message. Returns
 * 0 if the pool is empty, so that the sender must wait. */
static int transport_deliver(struct transport *t, uint64_t bits, uint32_t source, const char *data)
{
	mbmatch_receive_t *found = mbmatch_take_receive(&t->matcher, bits, source);
	if (found != NULL) {
		struct request *request = MBMATCH_OBJECT(found, struct request, node);
		memcpy(request->buffer, data, BYTES);
		request->done = 1;
		return 1;
	}
	struct fragment *fragment = t->idle_fragments;
	if (fragment == NULL) {
		return 0;
	}
	t->idle_fragments = fragment->idle;
	memcpy(fragment->data, data, BYTES);
	return mbmatch_queue_message(&t->matcher, &fragment->node, bits, source);
}

static void take(struct transport *t, mbmatch_message_t *found, char *buffer)
{
	struct fragment *fragment = MBMATCH_OBJECT(found, struct fragment, node);
	memcpy(buffer, fragment->data, BYTES);
	fragment->idle = t->idle_fragments;
	t->idle_fragments = fragment;
}

/* A nonblocking receive: its request comes from the pool and is given back by transport_finish. */
static struct request *transport_receive(struct transport *t, uint64_t bits, uint64_t ignore, uint32_t source, char *buffer)
{
	struct request *request = t->idle_requests;
	if (request == NULL) {
		return NULL;
	}
	t->idle_requests = request->idle;
	request->buffer = buffer;
	mbmatch_message_t *found = mbmatch_post(&t->matcher, &request->node, bits, ignore, source);
	request->done = found != NULL;
	if (found != NULL) {
		take(t, found, buffer);
	}
	return request;
}

/* Gives a request back, cancelled if it is not done. Returns whether it was done. */
static int transport_finish(struct transport *t, struct request *request)
{
	const int done = request->done || !mbmatch_cancel(&t->matcher, &request->node);
	request->idle = t->idle_requests;
	t->idle_requests = request;
	return done;
}

/* A blocking receive with its request on the stack: it must have left the queue before the function returns. */
static int transport_try_receive(struct transport *t, uint64_t bits, uint64_t ignore, uint32_t source, char *buffer)
{
	struct request request = {.buffer = buffer};
	mbmatch_message_t *found = mbmatch_post(&t->matcher, &request.node, bits, ignore, source);
	if (found != NULL) {
		take(t, found, buffer);
		return 1;
	}
	/* A real one makes progress here, which delivers messages. */
	mbmatch_cancel(&t->matcher, &request.node);
	return 0;
}

static int failures;

static void expect(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "transport: %s\n", what);
		failures++;
	}
}

int main(void)
{
	static struct transport t;
	char one[BYTES] = "", two[BYTES] = "", data[BYTES] = "";
	transport_init(&t);

	struct request *any = transport_receive(&t, bits_of(1, 0), ANY_TAG, MBMATCH_ANY_SOURCE, one);
	struct request *exact = transport_receive(&t, bits_of(1, 7), 0, 3, two);
	strcpy(data, "first");
	expect(transport_deliver(&t, bits_of(1, 7), 3, data), "a message was refused");
	strcpy(data, "second");
	expect(transport_deliver(&t, bits_of(1, 7), 3, data), "a message was refused");
	expect(transport_finish(&t, any) && strcmp(one, "first") == 0, "the older receive did not get the first message");
	expect(transport_finish(&t, exact) && strcmp(two, "second") == 0, "the younger receive did not get the second message");

	strcpy(data, "early");
	expect(transport_deliver(&t, bits_of(2, 9), 4, data) && mbmatch_unexpected(&t.matcher) == 1, "a message was not queued");
	expect(!transport_try_receive(&t, bits_of(1, 9), 0, 4, one), "a message of another communicator was taken");
	expect(transport_try_receive(&t, bits_of(2, 9), 0, MBMATCH_ANY_SOURCE, one) && strcmp(one, "early") == 0,
	       "the message that waits was not taken");
	expect(!transport_finish(&t, transport_receive(&t, bits_of(1, 1), 0, 1, one)), "a receive without a message was done");
	expect(mbmatch_posted(&t.matcher) == 0 && mbmatch_unexpected(&t.matcher) == 0, "the queues are not empty");
	mbmatch_destroy(&t.matcher);
	puts(failures == 0 ? "transport: all messages were matched in order" : "transport: failed");
	return failures != 0;
}
