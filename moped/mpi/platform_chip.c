// SPDX-License-Identifier: Apache-2.0 OR MIT
// The platform on the simulated chip: system calls of moped/kernel (calls.h) and MOPED's ports.

#include "platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernel/calls.h"
#include "moped.h"

// Numbers of Linux.
enum { CALL_WRITE = 64, CALL_EXIT_GROUP = 94, CALL_CLOCK_GETTIME = 113, CLOCK_MONOTONIC = 1 };

static uintptr_t port;

static long call3(long number, long a, long b, long c)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

// Under a kernel without these calls, as Linux, a program is alone.
int mb_platform_rank(void)
{
    const long rank = mb_rank();
    return rank < 0 ? 0 : (int)rank;
}

int mb_platform_size(void)
{
    const long size = mb_size();
    return size < 1 ? 1 : (int)size;
}

void *mb_platform_shared(size_t bytes)
{
    if (mb_size() < 1) return calloc(1, bytes);
    void *segment = mb_shared(bytes);
    return (intptr_t)segment < 0 && (intptr_t)segment > -4096 ? NULL : segment;
}

double mb_platform_time(void)
{
    int64_t now[2] = {0, 0}; // seconds, nanoseconds
    call3(CALL_CLOCK_GETTIME, CLOCK_MONOTONIC, (long)now, 0);
    return (double)now[0] + 1e-9 * (double)now[1];
}

void mb_platform_name(char *name, size_t bytes)
{
    const long core = mb_core();
    snprintf(name, bytes, "core %ld", core < 0 ? 0 : core);
}

const char *mb_platform_option(const char *name)
{
    return getenv(name);
}

// A process has its core to itself: a hint to the core, no call of the kernel.
void mb_platform_idle(unsigned rounds)
{
    (void)rounds;
    __asm__ volatile(".word 0x0100000f" : : : "memory"); // pause
}

void mb_platform_error(const char *text)
{
    call3(CALL_WRITE, 2, (long)text, (long)strlen(text));
}

// The kernel adds the process and the place; Linux has no such call.
void mb_platform_fail(int rank, const char *text)
{
    if (mb_report(text, strlen(text)) == 0) return;
    char line[640];
    snprintf(line, sizeof line, "mpi: rank %d: %s\n", rank, text);
    mb_platform_error(line);
}

void mb_platform_report(const char *line)
{
    mb_platform_error(line);
}

void mb_platform_abort(int code)
{
    for (;;)
        call3(CALL_EXIT_GROUP, code != 0 ? code : 1, 0, 0);
}

int mb_platform_has_moped(void)
{
    if (port == 0) {
        const intptr_t page = (intptr_t)mb_ports();
        if (page < 0 && page > -4096) return 0;
        port = (uintptr_t)page + (uintptr_t)mb_platform_rank() * MOPED_PORT_BYTES;
    }
    return 1;
}

uint32_t mb_port_reserve(void)
{
    return moped_reserve(port);
}

void mb_port_store(uint32_t descriptor, unsigned field, uint64_t value)
{
    moped_store(port, descriptor, field, value);
}

uint32_t mb_port_poll(uint32_t descriptor, unsigned word)
{
    return moped_poll(port, descriptor, word);
}

void mb_port_release(void)
{
    __asm__ volatile("fence w, o" : : : "memory");
}

void mb_port_acquire(void)
{
    __asm__ volatile("fence i, rw" : : : "memory");
}
