/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Performs the operations of one rank of a test program and reports what each call returned. It judges nothing.
 *
 * `interpreter_init` after MPI_Init; then `perform_program` on all ranks, any number of times. */
#ifndef MATCHBENCH_CONFORM_INTERPRETER_H
#define MATCHBENCH_CONFORM_INTERPRETER_H

#include <mpi.h>

#include "codes.h"

/* Takes each record in the order in which the calls return. Defined by the program that uses the interpreter. */
void observe(OutcomeRecord record);

/* This process in MPI_COMM_WORLD. */
extern int rank, ranks;

/* A duplicate of MPI_COMM_WORLD for barriers and for the program that uses the interpreter. */
extern MPI_Comm control;

/* The operations of this rank, and the one that is performed; `operation_count` in the drain phase. */
extern int operation_count, current;
extern const Operation *operation[MAX_STEPS];

/* Prints the reason and ends the job with status 3. */
void give_up(const char *what, const char *where);

/* Creates the communicators. No message is longer than `longest_message`. */
void interpreter_init(int longest_message);

/* Performs the part of this rank, then the drain phase, and leaves when every rank has. `number` marks the messages of
 * this program; it must differ from that of the program before. */
void perform_program(const RankHeader *part, int number);

#endif
