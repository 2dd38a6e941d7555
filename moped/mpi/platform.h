// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the library needs below it. Two implementations: platform_chip.c (the system calls of
// moped/kernel and MOPED's ports) and platform_host.c (Linux: fork, a shared mapping, and the test
// double of MOPED).

#ifndef MB_PLATFORM_H
#define MB_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

// This process and the number of processes of the program.
int mb_platform_rank(void);
int mb_platform_size(void);

// Zeroed memory, shared by all processes at the same address; NULL if there is not enough.
void *mb_platform_shared(size_t bytes);

// Seconds since a fixed moment.
double mb_platform_time(void);

// Name of the core or host, ended by zero.
void mb_platform_name(char *name, size_t bytes);

// Value of a variable of the environment, or NULL.
const char *mb_platform_option(const char *name);

// Called in a loop that waits; `rounds` counts its repetitions without an event.
void mb_platform_idle(unsigned rounds);

// A line for whoever set MB_MPI_COUNTERS.
void mb_platform_report(const char *line);
void mb_platform_error(const char *text);
// An error of this process, which ends the program.
void mb_platform_fail(int rank, const char *text);
_Noreturn void mb_platform_abort(int code);

// Ports of MOPED, those of this process. Reserve and poll return what the port returns (moped.h);
// a poll repeats MOPED_RETRY.
int mb_platform_has_moped(void);
uint32_t mb_port_reserve(void);
void mb_port_store(uint32_t descriptor, unsigned field, uint64_t value);
uint32_t mb_port_poll(uint32_t descriptor, unsigned word);

// Before MOPED_GO: earlier stores to memory precede it. After completion: later accesses follow.
void mb_port_release(void);
void mb_port_acquire(void);

#endif
