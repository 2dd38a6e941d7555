// SPDX-License-Identifier: Apache-2.0 OR MIT
// The system calls that this kernel adds to those of Linux. A program includes this file alone.
//
// A call is `ecall` with the number in a7 and arguments from a0 on, as for Linux. The result is in
// a0; -4095 to -1 are error numbers of Linux. All other registers keep their values.

#ifndef MB_KERNEL_CALLS_H
#define MB_KERNEL_CALLS_H

#include <stdint.h>

enum {
    MB_CALL_BASE = 0x4d420100,
    MB_CALL_RANK = MB_CALL_BASE,         // (): rank of this process in its program, from 0
    MB_CALL_SIZE = MB_CALL_BASE + 1,     // (): number of processes of the program
    MB_CALL_SHARED = MB_CALL_BASE + 2,   // (bytes): address of the program's shared segment
    MB_CALL_PORTS = MB_CALL_BASE + 3,    // (): address of the program's port page, or -ENODEV
    MB_CALL_MARK = MB_CALL_BASE + 4,     // (kind): passes a mode marker to the host
    MB_CALL_MOVE = MB_CALL_BASE + 5,     // (core): moves this process to another core
    MB_CALL_PROGRAM = MB_CALL_BASE + 6,  // (): number of the program, from 0
    MB_CALL_FAULT_IN = MB_CALL_BASE + 7, // (address, bytes): maps the pages of this range
    MB_CALL_CORE = MB_CALL_BASE + 8,     // (): core on which this process runs
    MB_CALL_REPORT = MB_CALL_BASE + 9,   // (text, bytes): a message about this process on the console
};

// Kinds of markers.
enum {
    MB_MARK_FUNCTIONAL = 0,
    MB_MARK_WARM_UP = 1,
    MB_MARK_TIMING = 2,
};

// Errors of these calls, with their numbers of Linux.
enum {
    MB_EFAULT = 14,  // fault_in, report: a part of the range belongs to no area
    MB_ENODEV = 19,  // ports: the machine has no such device
    MB_EINVAL = 22,  // shared: larger than the first call asked for; move: no such core; mark: no such kind
    MB_ENOMEM = 12,  // shared, fault_in: no free memory
};

static inline long mb_call(long number, long a, long b)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a7) : "memory");
    return a0;
}

static inline long mb_rank(void)
{
    return mb_call(MB_CALL_RANK, 0, 0);
}

static inline long mb_size(void)
{
    return mb_call(MB_CALL_SIZE, 0, 0);
}

// The segment is full of zeros and has the same address in all processes of the program. The first
// call of any of them decides its size, at most 8 GiB; a later one may ask for the same or less.
// Pages exist from their first access on; that a page appears is visible to all processes at once.
static inline void *mb_shared(uint64_t bytes)
{
    return (void *)mb_call(MB_CALL_SHARED, (long)bytes, 0);
}

// One page of device registers, 8 bytes for each rank. Accesses have side effects, are not cached
// and never speculative.
static inline void *mb_ports(void)
{
    return (void *)mb_call(MB_CALL_PORTS, 0, 0);
}

static inline long mb_mark(long kind)
{
    return mb_call(MB_CALL_MARK, kind, 0);
}

// A process stays on its core until it moves itself. On return it runs on the new core.
static inline long mb_move(long core)
{
    return mb_call(MB_CALL_MOVE, core, 0);
}

static inline long mb_program(void)
{
    return mb_call(MB_CALL_PROGRAM, 0, 0);
}

// Pages that the process may write become writable without a further fault.
static inline long mb_fault_in(const void *address, uint64_t bytes)
{
    return mb_call(MB_CALL_FAULT_IN, (long)address, (long)bytes);
}

// The kernel adds program, rank, process, core and pc. At most 400 bytes are shown.
static inline long mb_report(const char *text, uint64_t bytes)
{
    return mb_call(MB_CALL_REPORT, (long)text, (long)bytes);
}

static inline long mb_core(void)
{
    return mb_call(MB_CALL_CORE, 0, 0);
}

#endif
