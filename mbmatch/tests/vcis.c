/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The order of matching with several VCIs (examples/vcis.h), and times of threads that share matchers.
 *
 *   vcis check MESSAGES [SEED]       one thread posts receives, others deliver; exits with 1 where MPI's order is violated
 *   vcis time THREADS VCIS PERMILLE  millions of matches a second; of a thousand receives, so many are from any source
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../examples/vcis.h"

enum { THREADS = 4, SOURCES = 8, TAG = 7 };

static struct vcis vcis;

static void need(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "vcis: %s\n", what);
		exit(1);
	}
}

static uint64_t random_number(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/*
 * The check. All messages have one tag, so that a message fits each receive that accepts its source.
 */

static struct vci_receive *receives;
static struct vci_message *messages;
static size_t total, seed;

/* Thread t delivers the messages of the sources t, t + THREADS ... in the order of their numbers. */
static void *deliver(void *argument)
{
	const size_t thread = (size_t) argument;
	uint64_t state = seed + 77 * thread + 1;
	for (size_t k = thread; k < total; k += THREADS) {
		vcis_arrive(&vcis, &messages[k], TAG, messages[k].source);
		for (volatile uint64_t pause = random_number(&state) % 64; pause > 0; pause--) {
		}
	}
	return NULL;
}

/* Receives are matched in order for each source, and none waits that a message should have taken. */
static void check_order(size_t posted)
{
	size_t matched = 0, first_waiting[SOURCES];
	for (uint32_t s = 0; s < SOURCES; s++) {
		first_waiting[s] = SIZE_MAX;
	}
	size_t *receive_of = calloc(total, sizeof(*receive_of));
	for (size_t k = 0; k < posted; k++) {
		const struct vci_message *e = vcis_test(&receives[k]);
		if (e == NULL) {
			for (uint32_t s = 0; s < SOURCES; s++) {
				const bool accepts = receives[k].source == s || receives[k].source == MBMATCH_ANY_SOURCE;
				first_waiting[s] = accepts && first_waiting[s] == SIZE_MAX ? k : first_waiting[s];
			}
			continue;
		}
		need(receives[k].source == MBMATCH_ANY_SOURCE || receives[k].source == e->source, "a receive has a message of another source");
		need(receive_of[e - messages] == 0, "two receives have the same message");
		receive_of[e - messages] = k + 1;
		matched++;
	}
	size_t last[SOURCES] = {0}, unmatched[SOURCES] = {0};
	for (size_t k = 0; k < total; k++) {
		const uint32_t s = messages[k].source;
		if (receive_of[k] == 0) {
			unmatched[s]++;
			continue;
		}
		need(unmatched[s] == 0, "a message was matched before an older one of its source");
		need(receive_of[k] > last[s], "a message took an older receive than the message before it");
		need(first_waiting[s] > receive_of[k] - 1, "an older receive that accepts a matched message still waits");
		last[s] = receive_of[k];
	}
	for (uint32_t s = 0; s < SOURCES; s++) {
		need(unmatched[s] == 0 || first_waiting[s] == SIZE_MAX, "a receive and a message wait for each other");
	}
	size_t left = 0;
	for (uint32_t k = 0; k < vcis.count; k++) {
		left += mbmatch_unexpected(&vcis.vci[k].matcher);
	}
	need(left == total - matched, "a message is lost");
	free(receive_of);
}

static void check(uint32_t count)
{
	pthread_t threads[THREADS];
	uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	vcis_init(&vcis, count, UINT32_MAX);
	receives = calloc(total, sizeof(*receives));
	messages = calloc(total, sizeof(*messages));
	for (size_t k = 0; k < total; k++) {
		/* Each source belongs to one thread: its messages arrive in the order of their numbers. */
		messages[k].source = (uint32_t) (k % THREADS + THREADS * (random_number(&state) % (SOURCES / THREADS)));
	}
	for (size_t t = 0; t < THREADS; t++) {
		need(pthread_create(&threads[t], NULL, deliver, (void *) t) == 0, "no thread could be made");
	}
	const uint64_t wild = random_number(&state) % 100;
	for (size_t k = 0; k < total; k++) {
		const bool any = random_number(&state) % 100 < wild;
		vcis_post(&vcis, &receives[k], TAG, 0, any ? MBMATCH_ANY_SOURCE : (uint32_t) (random_number(&state) % SOURCES));
		if (k >= 64 && vcis_test(&receives[k - 64]) != NULL) {
			vcis_finish(&vcis, &receives[k - 64]);
		}
	}
	for (size_t t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
	}
	check_order(total);
	vcis_destroy(&vcis);
	free(receives);
	free(messages);
}

/*
 * Times. Each thread posts receives and delivers the messages of a source of its own until they are matched.
 */

enum { MATCHES = 1000000, WAITING = 16 };

struct worker {
	_Alignas(64) pthread_t thread;
	uint32_t source;
	unsigned permille;
};

static bool has_left(const struct vci_message *e)
{
	struct vci *vci = &vcis.vci[vci_of(&vcis, e->source)];
	pthread_spin_lock(&vci->lock);
	const bool left = !mbmatch_is_unexpected(&e->node);
	pthread_spin_unlock(&vci->lock);
	return left;
}

static void *work(void *argument)
{
	const struct worker *w = argument;
	uint64_t state = 77 * w->source + 1;
	struct vci_receive *window = calloc(WAITING, sizeof(*window));
	struct vci_message *sent = calloc(4 * WAITING, sizeof(*sent));
	bool waits[4 * WAITING] = {false};
	need(window != NULL && sent != NULL, "no memory");
	for (size_t k = 0; k < MATCHES; k++) {
		struct vci_receive *r = &window[k % WAITING];
		const bool any = random_number(&state) % 1000 < w->permille;
		vcis_post(&vcis, r, TAG, 0, any ? MBMATCH_ANY_SOURCE : w->source);
		for (size_t n = 0; vcis_test(r) == NULL; n++) {
			/* A message is used again when it is matched; others' receives may have older ones. */
			const size_t at = (k + n) % (4 * WAITING);
			if (!waits[at] || has_left(&sent[at])) {
				waits[at] = vcis_arrive(&vcis, &sent[at], TAG, w->source) == NULL;
			}
		}
		vcis_finish(&vcis, r);
	}
	return NULL; /* nodes of messages that wait stay until the process ends */
}

static void measure(uint32_t threads, uint32_t count, unsigned permille)
{
	static struct worker workers[MAX_VCIS];
	struct timespec start, end;
	vcis_init(&vcis, count, UINT32_MAX);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (uint32_t t = 0; t < threads; t++) {
		workers[t].source = t;
		workers[t].permille = permille;
		need(pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0, "no thread could be made");
	}
	for (uint32_t t = 0; t < threads; t++) {
		pthread_join(workers[t].thread, NULL);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	const double seconds = (double) (end.tv_sec - start.tv_sec) + 1e-9 * (double) (end.tv_nsec - start.tv_nsec);
	printf("%.2f\n", 1e-6 * MATCHES * threads / seconds);
}

int main(int argc, char **argv)
{
	long number[3] = {0, 1, 0};
	for (int k = 0; k < 3 && k + 2 < argc; k++) {
		number[k] = strtol(argv[k + 2], NULL, 10);
	}
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "check") == 0 && number[0] >= THREADS && number[1] >= 0) {
		total = (size_t) number[0] / THREADS * THREADS;
		for (uint32_t count = 1; count <= SOURCES; count++) {
			for (int turn = 0; turn < 5; turn++) {
				seed = (size_t) number[1]++;
				check(count);
			}
		}
		printf("%zu messages, 40 runs, 1 to %d VCIs: in order\n", total, SOURCES);
		return 0;
	}
	if (argc == 5 && strcmp(argv[1], "time") == 0 && number[0] >= 1 && number[0] <= MAX_VCIS && number[1] >= 1 &&
	    number[1] <= MAX_VCIS && number[2] >= 0 && number[2] <= 1000) {
		measure((uint32_t) number[0], (uint32_t) number[1], (unsigned) number[2]);
		return 0;
	}
	fprintf(stderr, "usage: vcis check MESSAGES [SEED] | vcis time THREADS VCIS PERMILLE; threads and VCIs from 1 to %d\n", MAX_VCIS);
	return 2;
}
