/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the outcome of a program may depend on: versions, hosts and loaded libraries. */
#ifndef MATCHBENCH_STACK_H
#define MATCHBENCH_STACK_H

/* Rank 0 writes DIRECTORY/stack.txt, lines of a key, a space and a value; collective over MPI_COMM_WORLD.
 *
 *   mpi        a line of MPI_Get_library_version
 *   standard   version of the MPI standard, from MPI_Get_version
 *   libfabric  version, if libfabric is loaded as a shared library
 *   ucx        version, if UCX is loaded as a shared library
 *   hosts      number of different MPI_Get_processor_name
 *   nodes      number of groups of MPI_Comm_split_type with MPI_COMM_TYPE_SHARED
 *   loaded     path of a loaded library of an MPI, libfabric, UCX or PMIx
 *   variable   a variable of the environment of rank 0, NAME=VALUE
 */
void write_stack(const char *directory);

#endif
