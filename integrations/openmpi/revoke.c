/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The revocation of a communicator while messages are searched for, on two ranks:
 *
 *   mpirun --with-ft ulfm -n 2 revoke
 *
 * Rank 0 posts thousands of receives. Rank 1 sends messages that the youngest of them accept, so that each search is
 * deep, and messages that no receive accepts; the large ones wait for a receive. In the midst of it rank 0 revokes the
 * communicator. Then
 *
 *   - every receive that no message has matched ends with MPIX_ERR_REVOKED, on both ranks;
 *   - every send ends, also of the large messages that wait in rank 0;
 *   - a new receive ends with MPIX_ERR_REVOKED;
 *   - MPIX_Comm_agree and MPIX_Comm_shrink work on the revoked communicator, and the new one matches.
 *
 * A rank that waits longer than SECONDS ends the program with status 1.
 */
#include <mpi.h>
#include <mpi-ext.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RECEIVES = 6000, /* of rank 0; tags from 0 on */
	MATCHED = 2000,  /* the most messages that rank 1 sends to them, youngest first */
	BEFORE = 500,    /* of these before the revocation */
	WAITING = 3000,  /* receives of rank 1 */
	SMALL = 2000,    /* messages that no receive accepts */
	LARGE = 32,
	BYTES = 1 << 20, /* of a large message */
	FIRST_SMALL = 20000,
	FIRST_LARGE = 30000,
	READY = 40000,
	SECONDS = 60
};

static int rank, failures;
static MPI_Request requests[RECEIVES];
static int values[RECEIVES];
static char *large;

static void too_long(int number)
{
	static const char text[] = "revoke: an operation does not end\n";
	(void)number;
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		_exit(2);
	_exit(1);
}

static void expect(int is, const char *what)
{
	if (!is) {
		fprintf(stderr, "revoke: rank %d: %s\n", rank, what);
		failures++;
	}
}

static int class_of(int error)
{
	int class;
	MPI_Error_class(error, &class);
	return class;
}

/* Waits for receives; returns the number of those that were revoked. */
static int wait_all(int count)
{
	int revoked = 0, others = 0;
	for (int n = 0; n < count; n++) {
		int class = class_of(MPI_Wait(&requests[n], MPI_STATUS_IGNORE));
		revoked += class == MPIX_ERR_REVOKED;
		others += class != MPIX_ERR_REVOKED && class != MPI_SUCCESS;
	}
	expect(others == 0, "a receive ends with another error");
	return revoked;
}

static void receive_and_revoke(MPI_Comm comm)
{
	int ready;
	for (int n = 0; n < RECEIVES; n++) {
		/* From any source, and from the rank itself, which sends nothing, too. */
		int source = n % 3 == 1 ? MPI_ANY_SOURCE : n < RECEIVES - MATCHED && n % 3 == 2 ? 0 : 1;
		MPI_Irecv(&values[n], 1, MPI_INT, source, n, comm, &requests[n]);
	}
	MPI_Barrier(comm);
	expect(MPI_Recv(&ready, 1, MPI_INT, 1, READY, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS, "rank 1 is not ready");
	/* Searches of the unexpected messages are deep, too. */
	for (int n = 0; n < SMALL; n += 2) {
		int value;
		MPI_Recv(&value, 1, MPI_INT, n % 4 ? 1 : MPI_ANY_SOURCE, FIRST_SMALL + SMALL - 1 - n, comm, MPI_STATUS_IGNORE);
		expect(value == SMALL - 1 - n, "a receive takes another message");
	}
	for (int n = RECEIVES - 1; n >= RECEIVES - BEFORE; n--)
		MPI_Wait(&requests[n], MPI_STATUS_IGNORE);
	expect(MPIX_Comm_revoke(comm) == MPI_SUCCESS, "the communicator cannot be revoked");
	int revoked = wait_all(RECEIVES);
	expect(revoked >= RECEIVES - MATCHED, "a receive that no message matched is not revoked");
	for (int n = RECEIVES - BEFORE; n < RECEIVES; n++)
		expect(values[n] == n, "a receive has the value of another message");
	printf("revoke: rank 0: %d of %d receives revoked\n", revoked, RECEIVES);
}

static void send(MPI_Comm comm)
{
	MPI_Request sends[LARGE];
	int error = MPI_SUCCESS, sent = 0, value = 0;
	for (int n = 0; n < WAITING; n++)
		MPI_Irecv(&values[n], 1, MPI_INT, 0, n, comm, &requests[n]);
	MPI_Barrier(comm);
	for (int n = 0; n < LARGE; n++)
		MPI_Isend(large, BYTES, MPI_BYTE, 0, FIRST_LARGE + n, comm, &sends[n]);
	for (int n = 0; n < SMALL; n++)
		MPI_Send(&n, 1, MPI_INT, 0, FIRST_SMALL + n, comm);
	MPI_Send(&value, 1, MPI_INT, 0, READY, comm);
	for (int n = RECEIVES - 1; n >= RECEIVES - MATCHED && error == MPI_SUCCESS; n--) {
		error = MPI_Send(&n, 1, MPI_INT, 0, n, comm);
		sent += error == MPI_SUCCESS;
	}
	expect(error == MPI_SUCCESS || class_of(error) == MPIX_ERR_REVOKED, "a send ends with another error");
	int revoked = wait_all(WAITING);
	expect(revoked == WAITING, "a receive that no message matched is not revoked");
	for (int n = 0; n < LARGE; n++)
		MPI_Wait(&sends[n], MPI_STATUS_IGNORE);
	printf("revoke: rank 1: %d of %d receives revoked, %d sends ended, %d messages before\n", revoked, WAITING, LARGE, sent);
}

/* Ranks exchange messages in reverse order. */
static void use(MPI_Comm comm)
{
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
	memset(values, 0, sizeof values);
	for (int n = 0; n < WAITING; n++)
		MPI_Irecv(&values[n], 1, MPI_INT, 1 - rank, n, comm, &requests[n]);
	MPI_Barrier(comm);
	for (int n = WAITING - 1; n >= 0; n--)
		MPI_Send(&n, 1, MPI_INT, 1 - rank, n, comm);
	MPI_Waitall(WAITING, requests, MPI_STATUSES_IGNORE);
	for (int n = 0; n < WAITING; n++)
		expect(values[n] == n, "a receive of the new communicator has the value of another message");
}

int main(int argc, char **argv)
{
	MPI_Comm comm, shrunk;
	int ranks, flag = 1, value, sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	large = calloc(BYTES, 1);
	if (ranks != 2 || !large) {
		fprintf(stderr, "usage: mpirun --with-ft ulfm -n 2 revoke\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	signal(SIGALRM, too_long);
	alarm(SECONDS);

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	if (rank == 0)
		receive_and_revoke(comm);
	else
		send(comm);

	MPI_Request request = MPI_REQUEST_NULL;
	int error = MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 0, comm, &request);
	if (error == MPI_SUCCESS)
		error = MPI_Wait(&request, MPI_STATUS_IGNORE);
	expect(class_of(error) == MPIX_ERR_REVOKED, "a new receive is not revoked");
	expect(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 1, "the ranks do not agree");
	expect(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS, "no new communicator");
	use(shrunk);
	MPI_Comm_free(&shrunk);
	MPI_Comm_free(&comm);
	MPI_Allreduce(&failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	free(large);
	MPI_Finalize();
	if (rank == 0)
		puts(sum ? "revoke: failed" : "revoke: passed");
	return sum != 0;
}
