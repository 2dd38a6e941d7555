// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Where the measuring program runs, and what it says of that.
#ifndef MATCHBENCH_PLACE_H
#define MATCHBENCH_PLACE_H
#include <mpi.h>

#define MARK "@matchbench-mpi " // what every line of ours begins with

enum { SENDER = 0, RECEIVER = 1, FIRST_OTHER = 2 };

// Print a JSON string.
void quoted(const char *text);

// Give each of the two ranks a core of its own if that is wanted, unless the launcher did or there are too few.
// All ranks call it. Returns where this rank is, a processor's number, or -1 if it may move; `by` is told who
// saw to that.
int pin(int rank, int wanted, const char **by);

// Sender and receiver call it: the receiver prints the library, both hosts, and what tells the transport.
void introduce(MPI_Comm control, int cpu, const char *by, double clock_ns);
#endif
