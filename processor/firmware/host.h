// SPDX-License-Identifier: Apache-2.0 OR MIT
// The system-call interface of guest programs: the table of README.md as C.
//
// A call is one instruction: `sc` (PPC32: number in r0, arguments in r3 to r6, result in r3) or
// `ecall` (RV64: number in a7, arguments in a0 to a3, result in a0). `exit` and `write` have their
// Linux numbers, so that a program also runs under a Linux emulator, which returns an error for the
// other calls. A call of this project changes only the register of its result.

#ifndef MB_GUEST_HOST_H
#define MB_GUEST_HOST_H

#include <stddef.h>
#include <stdint.h>

#if defined(__powerpc__) && !defined(__powerpc64__)
enum { MB_EXIT = 1, MB_WRITE = 4 };
#elif defined(__riscv) && __riscv_xlen == 64
enum { MB_EXIT = 93, MB_WRITE = 64 };
#else
#error "guest programs are for PPC32 and RV64"
#endif

enum {
    MB_OWN = 0x4d420000,     // "MB" in the upper half
    MB_NEXT = MB_OWN + 0,    // -> address of the next descriptor; waits for one
    MB_ANSWER = MB_OWN + 1,  // (descriptor): its answer is written
    MB_MARK = MB_OWN + 2,    // (what, value): reported to an observer
    MB_MORE = MB_OWN + 3,    // (bytes) -> address of that many unused bytes, aligned to 64
    MB_ACQUIRE = MB_OWN + 4, // (address): waits until the lock of this name is free, and takes it
    MB_RELEASE = MB_OWN + 5, // (address): releases it
    MB_THREAD = MB_OWN + 6,  // (entry, argument): starts a thread, which calls entry(argument)
    MB_END = MB_OWN + 7,     // the calling thread ends
    MB_JOIN = MB_OWN + 8,    // waits until all threads but the caller have ended
};

// The first argument of a mark.
enum {
    MB_MARK_LIST = 1,    // value: address of a benchmark's first item; the others follow it in memory
    MB_MARK_HEADERS = 2, // value: address of a benchmark's first header; the others follow it in memory
    MB_MARK_BEGIN = 3,   // value: number of the pass that begins
    MB_MARK_END = 4,     // value: number of the pass that ends
};

// Calls with three, two and one arguments.
static inline long mb_call3(long number, long a, long b, long c)
{
#if defined(__powerpc__)
    register long r0 __asm__("r0") = number;
    register long r3 __asm__("r3") = a;
    register long r4 __asm__("r4") = b;
    register long r5 __asm__("r5") = c;
    // Linux writes a flag of condition register 0.
    __asm__ volatile("sc" : "+r"(r3) : "r"(r0), "r"(r4), "r"(r5) : "cr0", "memory");
    return r3;
#else
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
#endif
}

static inline long mb_call2(long number, long a, long b)
{
#if defined(__powerpc__)
    register long r0 __asm__("r0") = number;
    register long r3 __asm__("r3") = a;
    register long r4 __asm__("r4") = b;
    __asm__ volatile("sc" : "+r"(r3) : "r"(r0), "r"(r4) : "cr0", "memory");
    return r3;
#else
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1) : "memory");
    return a0;
#endif
}

static inline long mb_call1(long number, long a)
{
#if defined(__powerpc__)
    register long r0 __asm__("r0") = number;
    register long r3 __asm__("r3") = a;
    __asm__ volatile("sc" : "+r"(r3) : "r"(r0) : "cr0", "memory");
    return r3;
#else
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
#endif
}

__attribute__((noreturn)) static inline void host_exit(int status)
{
    for (;;)
        mb_call1(MB_EXIT, status);
}

static inline void host_write(const void *text, size_t length)
{
    mb_call3(MB_WRITE, 1, (long)text, (long)length);
}

static inline void *host_next(void)
{
    return (void *)mb_call1(MB_NEXT, 0);
}

static inline void host_answer(const void *descriptor)
{
    mb_call1(MB_ANSWER, (long)descriptor);
}

static inline void host_mark(int what, uintptr_t value)
{
    mb_call2(MB_MARK, what, (long)value);
}

static inline void *host_more(size_t bytes)
{
    return (void *)mb_call1(MB_MORE, (long)bytes);
}

static inline void host_thread(void (*entry)(void *), void *argument)
{
    mb_call2(MB_THREAD, (long)entry, (long)argument);
}

__attribute__((noreturn)) static inline void host_end(void)
{
    for (;;)
        mb_call1(MB_END, 0);
}

static inline void host_join(void)
{
    mb_call1(MB_JOIN, 0);
}

#endif
