/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The datatypes of messages: where each byte lies, and the MPI datatype that says so. */
#ifndef MATCHBENCH_CONFORM_LAYOUT_H
#define MATCHBENCH_CONFORM_LAYOUT_H

#include <mpi.h>
#include <stddef.h>

#include "codes.h"

/* Bytes of memory that a datatype of `n` bytes covers. */
size_t layout_span(int layout, size_t n);

/* Where byte `i` of a datatype of `n` bytes lies. */
size_t layout_place(int layout, size_t n, size_t i);

/* Whether the byte at `at` of the memory of a datatype is not part of it. */
int layout_gap(int layout, size_t at);

/* Whether a datatype has such bytes. */
int has_gaps(int layout);

/* A datatype of `n` bytes, of which `count` make a message. */
MPI_Datatype layout_type(int layout, int n, int *count);

/* Frees a datatype of `layout_type`; afterwards it is MPI_BYTE. */
void layout_free(MPI_Datatype *made);

#endif
