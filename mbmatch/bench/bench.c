/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One matcher (the header CONTENDER) on patterns of operations: `bench PATTERN DEPTH [ROUNDS]`. A pattern is a list of
 * operations that leaves the queues as they were; it runs once to warm up and then ROUNDS times. Prints the pairs of a
 * post and an arrival in a round, the ns for a pair (the least of the rounds), and a number that depends on every match,
 * which is the same for all matchers that take the oldest entry that fits. A contender that defines ANY_SENDER takes the
 * oldest message of any one sender: `bench PATTERN DEPTH judge` exits with 1 unless each of its matches is one of these.
 * The calls are not inlined: the instructions inside of bench_post and bench_arrive are counted (measure.py).
 */
#include CONTENDER

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ANY UINT32_MAX
#define ANY_TAG UINT64_C(0xffffffff)

__attribute__((noinline)) message_t *bench_post(matcher_t *m, receive_t *r, uint64_t bits, uint64_t ignore, uint32_t source)
{
	return matcher_post(m, r, bits, ignore, source);
}

__attribute__((noinline)) receive_t *bench_arrive(matcher_t *m, message_t *e, uint64_t bits, uint32_t source)
{
	return matcher_arrive(m, e, bits, source);
}

struct op {
	uint64_t bits, ignore;
	uint32_t source;
	uint32_t node;
	int is_post;
};

static struct op *ops;
static size_t count, room;
static uint64_t state = 1;

static uint64_t random_number(void)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = state;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t below(uint64_t bound)
{
	return random_number() % bound;
}

static void add(struct op op)
{
	if (count == room) {
		room = room ? 2 * room : 1024;
		ops = realloc(ops, room * sizeof(*ops));
		if (ops == NULL) {
			exit(3);
		}
	}
	ops[count++] = op;
}

static void add_post(size_t node, uint64_t bits, uint64_t ignore, uint32_t source)
{
	add((struct op){bits & ~ignore, ignore, source, (uint32_t) node, 1});
}

static void add_arrival(size_t node, uint64_t bits, uint32_t source)
{
	add((struct op){bits, 0, source, (uint32_t) node, 0});
}

static uint32_t *order_of(size_t n, const char *order)
{
	uint32_t *at = malloc((n + 1) * sizeof(*at));
	for (size_t k = 0; k < n; k++) {
		at[k] = (uint32_t) (strcmp(order, "reverse") == 0 ? n - 1 - k : k);
	}
	if (strcmp(order, "random") == 0) {
		for (size_t k = n; k > 1; k--) {
			const size_t other = below(k);
			const uint32_t swap = at[k - 1];
			at[k - 1] = at[other];
			at[other] = swap;
		}
	}
	return at;
}

struct key {
	uint64_t bits, ignore;
	uint32_t source;
};

/* Posts `keys` and delivers messages for them in an order, or the other way round. */
static void drain(const struct key *keys, const struct key *sent, size_t n, const char *order, int unexpected)
{
	uint32_t *at = order_of(n, order);
	for (size_t k = 0; k < n; k++) {
		if (unexpected) {
			add_arrival(k, sent[k].bits, sent[k].source);
		} else {
			add_post(k, keys[k].bits, keys[k].ignore, keys[k].source);
		}
	}
	for (size_t k = 0; k < n; k++) {
		if (unexpected) {
			add_post(k, keys[at[k]].bits, keys[at[k]].ignore, keys[at[k]].source);
		} else {
			add_arrival(k, sent[at[k]].bits, sent[at[k]].source);
		}
	}
	free(at);
}

/* As many pairs as it takes to be measured. */
static size_t repeats(size_t n)
{
	return n < 1024 ? 1024 / n : 1;
}

static int build(const char *name, size_t n)
{
	char kind[64] = "", side[64] = "", order[64] = "";
	const char *rest = name;
	size_t length = strcspn(rest, ":");
	snprintf(kind, sizeof(kind), "%.*s", (int) length, rest);
	rest += length + (rest[length] != '\0');
	length = strcspn(rest, ":");
	snprintf(side, sizeof(side), "%.*s", (int) length, rest);
	rest += length + (rest[length] != '\0');
	snprintf(order, sizeof(order), "%s", rest);
	const int unexpected = strcmp(side, "unexpected") == 0;
	struct key *keys = calloc(n, sizeof(*keys)), *sent = calloc(n, sizeof(*sent));
	for (size_t round = repeats(n); round > 0; round--) {
		if (strcmp(kind, "master") == 0 || strcmp(kind, "master8") == 0) {
			/* n messages wait, of one tag or of eight; each receive from any source is followed by a message. */
			const uint64_t tags = strcmp(kind, "master") == 0 ? 1 : 8;
			for (size_t k = 0; k < n; k++) {
				sent[k].bits = below(tags);
				add_arrival(k, sent[k].bits, (uint32_t) below(1000));
			}
			uint32_t *at = order_of(n, "random");
			for (size_t k = 0; k < n; k++) {
				add_post(k, sent[at[k]].bits, 0, ANY);
			}
			free(at);
			continue;
		}
		if (strcmp(kind, "behind") == 0) {
			/* A message of another tag arrives behind n that stay, and a receive from any source takes it. */
			if (round == repeats(n)) {
				for (size_t k = 0; k < n; k++) {
					add_arrival(k, 1000 + k, (uint32_t) (k % 64));
				}
			}
			for (int k = 0; k < 8; k++) {
				add_arrival(n, 7, 3);
				add_post(n, 7, 0, ANY);
			}
			if (round == 1) {
				for (size_t k = 0; k < n; k++) {
					add_post(k, 1000 + k, 0, (uint32_t) (k % 64));
				}
			}
			continue;
		}
		for (size_t k = 0; k < n; k++) {
			struct key key = {k, 0, 0};
			if (strcmp(kind, "scattered") == 0) {
				key.bits = below(UINT64_C(1) << 31);
				key.source = (uint32_t) below(64);
			} else if (strcmp(kind, "stride") == 0) {
				key.bits = (k * 4096) & ANY_TAG;
			} else if (strcmp(kind, "all") == 0) {
				key.bits = 5;
				key.source = (uint32_t) k;
			} else if (strcmp(kind, "halo") == 0) {
				key.bits = 100 + k % 6;
				key.source = (uint32_t) (17 + 31 * k);
			} else if (strcmp(kind, "communicators") == 0) {
				key.bits = (k & 0x7f) << 32 | k >> 7;
			} else if (strcmp(kind, "one") == 0) {
				key.bits = 0;
			}
			sent[k] = keys[k] = key;
			if (strcmp(kind, "any") == 0) {
				sent[k].bits = keys[k].bits = 3;
				keys[k].source = ANY;
				sent[k].source = (uint32_t) below(64);
			} else if (strcmp(kind, "half") == 0) {
				keys[k].source = sent[k].source = (uint32_t) below(64);
				if (below(2)) {
					keys[k].source = ANY;
				}
			} else if (strcmp(kind, "anytag") == 0) {
				sent[k].source = keys[k].source = (uint32_t) k;
				keys[k].ignore = ANY_TAG;
			} else if (strcmp(kind, "four") == 0) {
				const uint64_t wild = below(4);
				sent[k].source = keys[k].source = (uint32_t) below(64);
				sent[k].bits = keys[k].bits = wild << 32 | below(64);
				keys[k].source = wild & 1 ? ANY : keys[k].source;
				keys[k].ignore = wild & 2 ? ANY_TAG : 0;
			}
		}
		drain(keys, sent, n, order, unexpected);
	}
	free(keys);
	free(sent);
	return count > 0;
}

static double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double) at.tv_sec * 1e9 + (double) at.tv_nsec;
}

/* Nodes are at the begin of requests and of fragments, which have the same size for every matcher. */
enum { STRIDE = 192 };

static uint64_t run(matcher_t *m, char *requests, char *fragments)
{
	uint64_t sum = 0;
	for (size_t k = 0; k < count; k++) {
		const struct op *op = &ops[k];
		const char *found;
		if (op->is_post) {
			found = (const char *) bench_post(m, (receive_t *) (void *) (requests + (size_t) op->node * STRIDE), op->bits, op->ignore, op->source);
			sum = sum * 31 + (found == NULL ? 0 : (uint64_t) (found - fragments));
		} else {
			found = (const char *) bench_arrive(m, (message_t *) (void *) (fragments + (size_t) op->node * STRIDE), op->bits, op->source);
			sum = sum * 31 + (found == NULL ? 0 : (uint64_t) (found - requests));
		}
	}
	return sum;
}

static int fits(const struct op *post, const struct op *sent)
{
	return ((post->bits ^ sent->bits) & ~post->ignore) == 0 && (post->source == ANY || post->source == sent->source);
}

/* Whether each match of a run is one that MPI allows: the oldest receive, the oldest message of its sender. */
static int judge(matcher_t *m, char *requests, char *fragments)
{
	/* The operations that wait, oldest first: messages and receives. */
	const struct op **queue[2] = {malloc(count * sizeof(*queue[0])), malloc(count * sizeof(*queue[0]))};
	size_t length[2] = {0, 0};
	int allowed = 1;
	for (size_t k = 0; k < count && allowed; k++) {
		const struct op *op = &ops[k];
		const int post = op->is_post;
		const struct op **other = queue[!post];
		char *at = (post ? requests : fragments) + (size_t) op->node * STRIDE;
		const char *found = post ? (const char *) bench_post(m, (receive_t *) (void *) at, op->bits, op->ignore, op->source)
		                         : (const char *) bench_arrive(m, (message_t *) (void *) at, op->bits, op->source);
		const size_t node = found == NULL ? SIZE_MAX : (size_t) (found - (post ? fragments : requests)) / STRIDE;
		size_t taken = SIZE_MAX;
		for (size_t n = 0; n < length[!post] && taken == SIZE_MAX; n++) {
			taken = other[n]->node == node ? n : SIZE_MAX;
		}
		allowed = found == NULL || (taken != SIZE_MAX && (post ? fits(op, other[taken]) : fits(other[taken], op)));
		for (size_t n = 0; n < length[!post] && n < taken && allowed; n++) {
			allowed = post ? !fits(op, other[n]) || (found != NULL && other[n]->source != other[taken]->source) : !fits(other[n], op);
		}
		if (found == NULL) {
			queue[post][length[post]++] = op;
		} else if (allowed) {
			length[!post]--;
			memmove(other + taken, other + taken + 1, (length[!post] - taken) * sizeof(*other));
		}
	}
	free(queue[0]);
	free(queue[1]);
	return allowed;
}

int main(int argc, char **argv)
{
	const size_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	const int judged = argc > 3 && strcmp(argv[3], "judge") == 0, rounds = argc > 3 && !judged ? atoi(argv[3]) : 1;
	if (n == 0 || rounds < 1 || !build(argv[1], n)) {
		fprintf(stderr, "usage: bench PATTERN DEPTH [ROUNDS|judge]\n");
		return 2;
	}
	char *requests = calloc(n + 1, STRIDE), *fragments = calloc(n + 1, STRIDE);
	matcher_t m;
	matcher_init(&m);
	int status = 0;
	if (judged) {
		status = !judge(&m, requests, fragments);
	} else {
		uint64_t sum = run(&m, requests, fragments);
		double least = 1e300;
		for (int k = 0; k < rounds && status == 0; k++) {
			const double begin = now();
			const uint64_t again = run(&m, requests, fragments);
			const double taken = now() - begin;
			least = taken < least ? taken : least;
#ifdef ANY_SENDER
			sum = again;
#endif
			if (again != sum) {
				fprintf(stderr, "bench: a round had other matches than the first\n");
				status = 1;
			}
		}
		printf("%zu %.2f %016" PRIx64 "\n", count / 2, least / ((double) count / 2), sum);
	}
	matcher_destroy(&m);
	free(requests);
	free(fragments);
	free(ops);
	return status;
}
