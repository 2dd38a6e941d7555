/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Performs the operations of one rank of a test program and reports what each call returned, without judging it.
 *
 * `start_mpi`, `interpreter_init`, `perform_program` on all ranks any number of times, `interpreter_end`,
 * MPI_Finalize. */
#ifndef MATCHBENCH_CONFORM_INTERPRETER_H
#define MATCHBENCH_CONFORM_INTERPRETER_H

#include <mpi.h>

#include "codes.h"
#include "communicators.h"

/* Bytes of a large receive: more than 2^32, of which the last 32 bits alone hold no message. */
#define LARGE_COUNT (((MPI_Count)1 << 32) + 5)

/* Takes each record, those of a thread in the order in which its calls return, never two at a time.
 * Defined by the program that uses the interpreter. */
void observe(OutcomeRecord record);

/* The operations of this rank, and the one that this thread performs; `operation_count` in the drain phase. */
extern int operation_count;
extern _Thread_local int current;
extern const OperationRecord *operation[MAX_STEPS];

/* A launcher may lose what an aborted rank has printed: unless this is empty, reasons are written to this file too. */
extern char reason_file[4096];

/* Prints why the job ends; safe in a signal handler. */
void say_why(const char *what, const char *where);

/* Prints the reason and ends the job with status 3. */
void give_up(const char *what, const char *where);

/* Creates the communicators that `needs` asks for. No message is longer than `longest_message`. */
void interpreter_init(int longest_message, int needs);

/* Frees what belongs to a session. */
void interpreter_end(void);

/* The operation of the first thread that has not performed all of its operations; safe in a signal handler. */
int unfinished_operation(void);

/* Performs the part of this rank, then the drain phase, and leaves when every rank has. `number` marks the messages of
 * this program; it must differ from that of the program before. */
void perform_program(const RankHeader *part, int number);

#endif
