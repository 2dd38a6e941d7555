/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The buffers of operations, and the records of what their calls returned, without judging it. */
#ifndef MATCHBENCH_CONFORM_RECORDS_H
#define MATCHBENCH_CONFORM_RECORDS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "codes.h"

/* The value of bytes that a receive must not write. */
enum { GUARD_BYTE = 0xa5 };
enum { MAX_PARTITIONS = 8 };

/* The number of the program, which marks its messages. */
extern int program_number;

/* Of each operation: its buffers, and the datatype of its receive or of its persistent send. */
extern unsigned char *buffer[MAX_STEPS], *sendrecv_buffer[MAX_STEPS], *large_buffer[MAX_STEPS];
extern MPI_Datatype type[MAX_STEPS];

/* Checksums of the partitions that MPI_Parrived reported. */
extern uint64_t arrived[MAX_STEPS][MAX_PARTITIONS];

/* Messages received in this program. */
extern atomic_int received;

/* The longest message of any program, in bytes. */
extern int longest;

void records_init(int longest_message);

/* Memory; without it the job ends. */
unsigned char *allocate(size_t bytes);

/* The buffer of operation `op` in one of the arrays, for the longest message in any layout. */
unsigned char *buffer_in(unsigned char **buffers, int op);
unsigned char *buffer_of(int op);

/* Of the receive of operation `op`: the layout, the bytes that its buffer holds, whether its count is LARGE_COUNT. */
int layout_of(int op);
int room_of(int op);
int is_large(int op);

/* The buffer of a receive that is about to be posted. What it must not write has a known value. */
unsigned char *guarded_buffer(int op);

/* The bytes of message `step`, `n` of them, in a layout. */
void fill_buffer(unsigned char *bytes, int layout, int n, int step);

uint64_t checksum(const unsigned char *bytes, int count);

/* Passes a record to `observe`, one at a time. */
void tell(OutcomeRecord record);
void report(int kind, int step);
void report_error(int step, int error);

/* Source, tag and count of a status, for a receive of datatype `of`. */
void set_status(OutcomeRecord *record, const MPI_Status *status, MPI_Datatype of);

/* A message of bytes was received. */
void report_bytes(int kind, int step, const MPI_Status *status, const unsigned char *bytes);

/* The receive of operation `op`, started by `step`, is complete: any, that of an MPI_Isendrecv, that of partitions, and
 * one whose message was truncated. */
void report_received(int op, int step, const MPI_Status *status, int flags);
void report_isendrecv(int op, int step, const MPI_Status *status);
void report_partitioned(int op, int step);
void report_truncated(int op, int step, const MPI_Status *status);

#endif
