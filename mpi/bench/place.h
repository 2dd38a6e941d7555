// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Pinning of the measuring program, and its report on host and MPI.
#ifndef MATCHBENCH_PLACE_H
#define MATCHBENCH_PLACE_H
#include <mpi.h>

#define MARK "@matchbench-mpi " // marker of protocol lines

enum { SENDER = 0, RECEIVER = 1, FIRST_OTHER = 2 };

// Prints a JSON string.
void quoted(const char *text);

// Pins the two ranks to different cores if requested, unless the launcher did or there are too few cores.
// All ranks call it. Returns the processor of this rank, or -1 if it is not pinned; sets `by` to who pinned it.
int pin(int rank, int wanted, const char **by);

// Sender and receiver call it: the receiver prints the library, both hosts, and what identifies the transport.
void introduce(MPI_Comm control, int cpu, const char *by, double clock_ns);
#endif
