/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The start of MPI, and the communicators of test programs. */
#ifndef MATCHBENCH_CONFORM_COMMUNICATORS_H
#define MATCHBENCH_CONFORM_COMMUNICATORS_H

#include <mpi.h>

#include "codes.h"

/* This process in MPI_COMM_WORLD. */
extern int rank, ranks;

/* A duplicate of MPI_COMM_WORLD for barriers and for the program that uses the interpreter. */
extern MPI_Comm control;

/* The communicators of messages; MPI_COMM_NULL where programs do not need one. */
extern MPI_Comm comm[COMMS];

/* The names of what a library may lack. */
extern const char *const need_name[NEEDS];

/* Starts MPI, with threads if they are among `needs`. Returns what the library lacks of `needs`. */
int start_mpi(int *argc, char ***argv, int needs);

/* Creates the communicators that `needs` asks for. Their errors are returned. */
void create_communicators(int needs);

/* Frees what belongs to a session. */
void free_session(void);

#endif
