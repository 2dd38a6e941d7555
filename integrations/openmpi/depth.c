/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The time of a message by queue depth: one rank that sends to itself, so that the transport is a function call.
 * With two ranks: latency and message rate at depth 0.
 *
 *   depth SECONDS [SERIES] DEPTH...
 *                               one rank: every series, or one, at these depths
 *   depth SECONDS               two ranks: latency and rate
 *   depth --turns IN OUT REPETITIONS [SERIES] DEPTH...
 *                               one rank, in turns with another process: it runs while it has the byte that it reads
 *                               from the FIFO IN, and gives it away in OUT after each repetition
 *
 * SECONDS is the time for each series at each depth. Prints a line for each, `SERIES DEPTH Q1 MEDIAN`, in nanoseconds:
 * the first quartile and the median of repetitions, of which there are at least 5, and 3 where a list takes a second.
 * A repetition takes as many operations as fit in a thousandth of a second, or one queue of messages.
 * In turns, each line is `SERIES DEPTH` and the time of each repetition, so that those of two processes can be paired:
 * a fixed number of operations, after some that are not timed.
 */
#include <mpi.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPETITIONS = 4000, LEAST = 5, LEAST_DEEP = 3, DEEP = 4096, WINDOW = 64, TAG = 0, FIRST = 1 };

static double limit;
static double times[REPETITIONS];
static MPI_Request *requests;
static int *order;
static char byte[8], bytes[WINDOW * 8];
static const char *only; /* the one series, or NULL */
static int turns; /* repetitions in turns, or 0 */
static int from_other = -1, to_other = -1;

static int least(int depth)
{
	return depth < DEEP ? LEAST : LEAST_DEEP;
}

static void fail(const char *what)
{
	fprintf(stderr, "depth: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 2);
}

static void wait_for_turn(void)
{
	char token;
	if (turns && read(from_other, &token, 1) != 1)
		fail("the other process has ended");
}

static void give_turn(void)
{
	if (turns && write(to_other, "t", 1) != 1)
		fail("the other process cannot be told");
}

/* Begins a repetition. */
static void next_turn(void)
{
	give_turn();
	wait_for_turn();
}

static int wanted(const char *series)
{
	return !only || strcmp(only, series) == 0;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static void report(const char *series, int depth, int count)
{
	if (turns) {
		printf("%s %d", series, depth);
		for (int i = 0; i < count; i++)
			printf(" %.2f", times[i] * 1e9);
		printf("\n");
		fflush(stdout);
		return;
	}
	qsort(times, (size_t)count, sizeof times[0], compare);
	printf("%s %d %.2f %.2f\n", series, depth, times[count / 4] * 1e9, times[count / 2] * 1e9);
	fflush(stdout);
}

/* A multiplier that is prime to every depth below 2^31: the order is the same in every run. */
static void arrange(int depth, const char *how)
{
	unsigned state = 12345;
	for (int i = 0; i < depth; i++)
		order[i] = strcmp(how, "reverse") == 0 ? depth - 1 - i : i;
	if (strcmp(how, "random") == 0)
		for (int i = depth - 1; i > 0; i--) {
			state = state * 1664525u + 1013904223u;
			int at = (int)((unsigned long long)state * (unsigned)(i + 1) >> 32), other = order[i];
			order[i] = order[at];
			order[at] = other;
		}
}

static void send(int tag)
{
	MPI_Send(byte, 1, MPI_CHAR, 0, tag, MPI_COMM_SELF);
}

/* A message for a receive that waits. */
static void expected(int source)
{
	MPI_Request request;
	MPI_Irecv(byte, 1, MPI_CHAR, source, TAG, MPI_COMM_SELF, &request);
	send(TAG);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A receive of a message that waits. */
static void unexpected(int source)
{
	send(TAG);
	MPI_Recv(byte, 1, MPI_CHAR, source, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* One message after the other, in turns: so many that a repetition takes some tenths of a millisecond. */
static void one_by_one_in_turns(const char *series, int depth, void (*message)(int), int source)
{
	int batch = depth <= 64 ? 2000 : depth <= 256 ? 500 : 50;
	for (int count = 0; count < turns; count++) {
		next_turn();
		for (int i = 0; i < batch / 8; i++)
			message(source);
		double start = MPI_Wtime();
		for (int i = 0; i < batch; i++)
			message(source);
		times[count] = (MPI_Wtime() - start) / batch;
	}
	report(series, depth, turns);
}

/* One message after the other. */
static void one_by_one(const char *series, int depth, void (*message)(int), int source)
{
	int count = 0, batch = 1;
	if (turns) {
		one_by_one_in_turns(series, depth, message, source);
		return;
	}
	double end = MPI_Wtime() + limit;
	for (; count < REPETITIONS && (count < LEAST || MPI_Wtime() < end); count++) {
		double start = MPI_Wtime(), took;
		for (int i = 0; i < batch; i++)
			message(source);
		took = MPI_Wtime() - start;
		times[count] = took / batch;
		if (took < 0.0005 && batch < 1 << 20) {
			batch *= 2;
			count = -1;
		}
	}
	report(series, depth, count);
}

static void post_all(int depth, int source)
{
	for (int i = 0; i < depth; i++)
		MPI_Irecv(byte, 1, MPI_CHAR, source, FIRST + i, MPI_COMM_SELF, &requests[i]);
}

static void send_all(int depth, int source)
{
	(void)source;
	for (int i = 0; i < depth; i++)
		send(FIRST + i);
}

/* One message after the other for a receive behind `depth` receives that stay. */
static void behind_posted(const char *series, int depth, int ahead_source, int source)
{
	if (!wanted(series))
		return;
	post_all(depth, ahead_source);
	one_by_one(series, depth, expected, source);
	for (int i = 0; i < depth; i++) {
		MPI_Cancel(&requests[i]);
		MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
	}
}

/* One receive after the other behind `depth` messages that stay. */
static void behind_unexpected(const char *series, int depth, int source)
{
	if (!wanted(series))
		return;
	send_all(depth, source);
	one_by_one(series, depth, unexpected, source);
	for (int i = 0; i < depth; i++)
		MPI_Recv(byte, 1, MPI_CHAR, 0, FIRST + i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void send_in_order(int depth, int source)
{
	(void)source;
	for (int i = 0; i < depth; i++)
		send(FIRST + order[i]);
	MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
}

static void receive_in_order(int depth, int source)
{
	for (int i = 0; i < depth; i++)
		MPI_Recv(byte, 1, MPI_CHAR, source, FIRST + order[i], MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* `depth` receives or messages wait and are taken in an order; a shallow queue several times a repetition. */
static void drain(const char *queue, const char *how, int depth, int source, void (*fill)(int, int),
                  void (*take)(int, int))
{
	char series[64];
	int count = 0, rounds = depth < 1024 ? 1024 / depth : 1;
	snprintf(series, sizeof series, "%s_%s%s", queue, source == MPI_ANY_SOURCE ? "any_source_" : "", how);
	if (!wanted(series))
		return;
	arrange(depth, how);
	double end = MPI_Wtime() + limit;
	for (; turns ? count < turns : count < REPETITIONS && (count < least(depth) || MPI_Wtime() < end); count++) {
		double took = 0;
		if (turns)
			next_turn();
		for (int round = turns && rounds > 1 ? -rounds / 8 : 0; round < rounds; round++) {
			fill(depth, source);
			double start = MPI_Wtime();
			take(depth, source);
			took += round < 0 ? 0 : MPI_Wtime() - start;
		}
		times[count] = took / depth / rounds;
	}
	report(series, depth, count);
}

/* `depth` receives wait, and messages take them. */
static void drain_posted(const char *how, int depth, int source)
{
	drain("posted", how, depth, source, post_all, send_in_order);
}

/* `depth` messages wait, and receives take them. */
static void drain_unexpected(const char *how, int depth, int source)
{
	drain("unexpected", how, depth, source, send_all, receive_in_order);
}

/* Half of a round trip of 8 bytes between two ranks. */
static void latency(int rank)
{
	int count = 0, going = 1;
	double end = MPI_Wtime() + limit;
	while (going) {
		double start = MPI_Wtime();
		for (int i = 0; i < 1000; i++) {
			if (rank == 0) {
				MPI_Send(byte, 8, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
				MPI_Recv(byte, 8, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			} else {
				MPI_Recv(byte, 8, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				MPI_Send(byte, 8, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
			}
		}
		times[count++] = (MPI_Wtime() - start) / 2000;
		going = count < REPETITIONS && (count < LEAST || MPI_Wtime() < end);
		MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	if (rank == 0)
		report("latency", 0, count);
}

/* The time of a message in windows of 64 messages of 8 bytes, each window acknowledged. */
static void rate(int rank)
{
	MPI_Request window[WINDOW];
	int count = 0, going = 1;
	double end = MPI_Wtime() + limit;
	while (going) {
		double start = MPI_Wtime();
		for (int turn = 0; turn < 50; turn++) {
			for (int i = 0; i < WINDOW; i++)
				if (rank == 0)
					MPI_Isend(bytes + 8 * i, 8, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &window[i]);
				else
					MPI_Irecv(bytes + 8 * i, 8, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &window[i]);
			MPI_Waitall(WINDOW, window, MPI_STATUSES_IGNORE);
			if (rank == 0)
				MPI_Recv(byte, 8, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			else
				MPI_Send(byte, 8, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
		}
		times[count++] = (MPI_Wtime() - start) / (50 * WINDOW);
		going = count < REPETITIONS && (count < LEAST || MPI_Wtime() < end);
		MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	if (rank == 0)
		report("rate", 0, count);
}

int main(int argc, char **argv)
{
	static const char *const orders[] = {"in_order", "reverse", "random"};
	int rank, ranks, first = 2, deepest = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc > 4 && strcmp(argv[1], "--turns") == 0) {
		/* Opened for both, so that neither process waits for the other to open. */
		from_other = open(argv[2], O_RDWR);
		to_other = open(argv[3], O_RDWR);
		turns = atoi(argv[4]);
		if (from_other < 0 || to_other < 0 || turns < 1 || turns > REPETITIONS)
			fail("expected two FIFOs and a number of repetitions");
		argc -= 3;
		argv += 3;
	}
	limit = argc > 1 ? atof(argv[1]) : 0;
	if (!(limit > 0) || ranks != (argc > 2 ? 1 : 2))
		fail("expected SECONDS [SERIES] DEPTH... on one rank, or SECONDS on two");
	if (argc > 2 && (argv[2][0] < '0' || argv[2][0] > '9'))
		only = argv[first++];
	for (int i = first; i < argc; i++)
		deepest = atoi(argv[i]) > deepest ? atoi(argv[i]) : deepest;
	requests = malloc((size_t)(deepest + 1) * sizeof *requests);
	order = malloc((size_t)(deepest + 1) * sizeof *order);
	if (requests == NULL || order == NULL)
		fail("out of memory");
	if (ranks == 2) {
		latency(rank);
		rate(rank);
	}
	wait_for_turn();
	for (int i = first; i < argc; i++) {
		int depth = atoi(argv[i]);
		if (depth < 0 || depth > 32000)
			fail("a depth is not from 0 to 32000");
		behind_posted("behind_posted", depth, 0, 0);
		behind_posted("behind_posted_any_source", depth, MPI_ANY_SOURCE, 0);
		behind_posted("any_source_behind_posted", depth, 0, MPI_ANY_SOURCE);
		behind_unexpected("behind_unexpected", depth, 0);
		behind_unexpected("any_source_behind_unexpected", depth, MPI_ANY_SOURCE);
		for (int how = 0; how < 3 && depth > 0; how++) {
			drain_posted(orders[how], depth, 0);
			drain_unexpected(orders[how], depth, 0);
		}
		if (depth > 0) {
			drain_posted("reverse", depth, MPI_ANY_SOURCE);
			drain_unexpected("reverse", depth, MPI_ANY_SOURCE);
		}
	}
	give_turn();
	free(requests);
	free(order);
	MPI_Finalize();
	return 0;
}
