/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What an example program counts about itself: point-to-point messages and payload bytes, sent and
 * received. Collectives, MPI_PROC_NULL and cancelled receives do not count. Received bytes come
 * from the status, not from the posted size, so the two halves are independent. Tests compare the
 * line that `tally_report` prints with the recorded trace.
 */
#ifndef EXAMPLES_TALLY_H
#define EXAMPLES_TALLY_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

struct tally {
    unsigned long long sent, sent_bytes, received, received_bytes;
};

static inline void tally_send(struct tally *tally, int count, MPI_Datatype type)
{
    int type_bytes;
    MPI_Type_size(type, &type_bytes);
    ++tally->sent;
    tally->sent_bytes += (unsigned long long)count * (unsigned long long)type_bytes;
}

static inline void tally_receive(struct tally *tally, const MPI_Status *status, MPI_Datatype type)
{
    int type_bytes, count;
    MPI_Type_size(type, &type_bytes);
    MPI_Get_count(status, type, &count);
    ++tally->received;
    tally->received_bytes += (unsigned long long)count * (unsigned long long)type_bytes;
}

/* Collective. Prints the totals from rank 0 and returns true if all that was sent was received. */
static inline bool tally_report(const struct tally *tally, const char *program, MPI_Comm comm)
{
    unsigned long long mine[4] = {tally->sent, tally->sent_bytes, tally->received, tally->received_bytes};
    unsigned long long total[4];
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(mine, total, 4, MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm);
    bool balanced = total[0] == total[2] && total[1] == total[3];
    if (rank == 0) {
        printf("%s: sent_messages=%llu sent_bytes=%llu received_messages=%llu received_bytes=%llu\n", program,
               total[0], total[1], total[2], total[3]);
        if (!balanced) {
            fprintf(stderr, "%s: WRONG: not all that was sent was received\n", program);
        }
    }
    return balanced;
}

#endif
