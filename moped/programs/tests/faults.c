/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Preloaded into a program by the tests, or linked with it: spoils one message of rank 1, and checks the markers.
 *
 * FAULT=dropped: what the receiver gets is zeros. FAULT=mirrored: the 8-byte words are in reverse order.
 * FAULT=left_out: zeros are what rank 1 contributes to a sum. Unset: nothing. Of the messages to which the
 * fault applies, with at least FAULT_BYTES bytes (default 1), it is number FAULT_NUMBER (from 1, the default)
 * since the measured part began.
 *
 * PRINT_MARKERS=1: rank 0 prints the markers that it saw when the program ends.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8 };

static bool measured;
static int seen;
static char markers[64];

void mb_mark(int kind);

void mb_mark(int kind)
{
    measured = measured || kind == 2;
    size_t length = strlen(markers);
    snprintf(&markers[length], sizeof markers - length, " %d", kind);
}

static const char *fault(void)
{
    const char *name = getenv("FAULT");
    return name != NULL ? name : "";
}

static int number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? atoi(text) : 1;
}

/* Whether this call is the one to spoil. */
static bool due(bool sum, int bytes)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bool kind = sum ? strcmp(fault(), "left_out") == 0
                    : strcmp(fault(), "dropped") == 0 || strcmp(fault(), "mirrored") == 0;
    if (rank != 1 || !measured || !kind || bytes < number("FAULT_BYTES")) {
        return false;
    }
    return ++seen == number("FAULT_NUMBER");
}

static int size_of(int count, MPI_Datatype type)
{
    int bytes;
    PMPI_Type_size(type, &bytes);
    return count * bytes;
}

static void spoil(unsigned char *content, int bytes)
{
    if (strcmp(fault(), "mirrored") != 0) {
        memset(content, 0, (size_t)bytes);
        return;
    }
    for (int low = 0, high = bytes - WORD; low < high; low += WORD, high -= WORD) {
        unsigned char word[WORD];
        memcpy(word, &content[low], WORD);
        memcpy(&content[low], &content[high], WORD);
        memcpy(&content[high], word, WORD);
    }
}

/* The buffer, or a spoiled copy that lives until the process ends. */
static const void *outgoing(bool sum, const void *buffer, int bytes)
{
    if (!due(sum, bytes)) {
        return buffer;
    }
    unsigned char *copy = malloc((size_t)bytes);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, buffer, (size_t)bytes);
    spoil(copy, bytes);
    return copy;
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return PMPI_Send(outgoing(false, buffer, size_of(count, type)), count, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Isend(outgoing(false, buffer, size_of(count, type)), count, type, to, tag, comm, request);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int status = PMPI_Bcast(buffer, count, type, root, comm);
    if (due(false, size_of(count, type))) {
        spoil(buffer, size_of(count, type));
    }
    return status;
}

int MPI_Gather(const void *out, int count, MPI_Datatype type, void *in, int in_count, MPI_Datatype in_type, int root,
               MPI_Comm comm)
{
    return PMPI_Gather(outgoing(false, out, size_of(count, type)), count, type, in, in_count, in_type, root, comm);
}

int MPI_Alltoall(const void *out, int count, MPI_Datatype type, void *in, int in_count, MPI_Datatype in_type,
                 MPI_Comm comm)
{
    int ranks;
    PMPI_Comm_size(comm, &ranks);
    return PMPI_Alltoall(outgoing(false, out, ranks * size_of(count, type)), count, type, in, in_count, in_type, comm);
}

int MPI_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    return PMPI_Reduce(outgoing(op == MPI_SUM, out, size_of(count, type)), in, count, type, op, root, comm);
}

int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Allreduce(outgoing(op == MPI_SUM, out, size_of(count, type)), in, count, type, op, comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && getenv("PRINT_MARKERS") != NULL) {
        printf("markers%s\n", markers);
    }
    return PMPI_Finalize();
}
