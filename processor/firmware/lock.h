// SPDX-License-Identifier: Apache-2.0 OR MIT
// A lock for each item, in four forms: none in a program with one thread; a system call that lock
// hardware serves (LOCK_CALLS); a word in the item that threads spin on (LOCK_SPIN), or wait for
// without executing anything (LOCK_WAIT, RV64 with Zawrs).
//
// A lock can be released by another thread than the one that acquired it. LOCK_SPIN has no
// barriers: the simulated cores execute in order, and a store is visible to all threads at once.
// On a machine that reorders, isync and lwsync, or .aq and .rl, are needed; LOCK_WAIT has them.

#ifndef MB_GUEST_LOCK_H
#define MB_GUEST_LOCK_H

#include "host.h"
#include "match.h"

#if defined(LOCK_CALLS) || defined(LOCK_SPIN) || defined(LOCK_WAIT)
#define THREADS 1
#else
#define THREADS 0
#endif

#if defined(LOCK_WAIT)
// wrs.nto: waits until another hart writes to the line of the last load-reserved. Written as a
// number, because the compiler does not know the extension.
#define WAIT_FOR_STORE ".4byte 0x00d00073\n"
#endif

static inline void acquire(struct memd *item)
{
#if defined(LOCK_CALLS)
    mb_call1(MB_ACQUIRE, (long)item);
#elif defined(LOCK_SPIN)
    uint32_t seen;
#if defined(__powerpc__)
    __asm__ volatile("1: lwarx %0,0,%1\n"
                     "   cmpwi %0,0\n"
                     "   bne- 1b\n"
                     "   stwcx. %2,0,%1\n"
                     "   bne- 1b"
                     : "=&r"(seen)
                     : "r"(&item->lock), "r"(1)
                     : "cr0", "memory");
#else
    __asm__ volatile("1: lr.w %0,(%1)\n"
                     "   bnez %0,1b\n"
                     "   sc.w %0,%2,(%1)\n"
                     "   bnez %0,1b"
                     : "=&r"(seen)
                     : "r"(&item->lock), "r"(1)
                     : "memory");
#endif
#elif defined(LOCK_WAIT)
    uint32_t seen;
    __asm__ volatile("1: lr.w.aq %0, (%1)\n"
                     "   bnez %0, 2f\n"
                     "   sc.w %0, %2, (%1)\n"
                     "   bnez %0, 1b\n"
                     ".subsection 1\n"
                     "2: " WAIT_FOR_STORE "   j 1b\n"
                     ".previous\n"
                     : "=&r"(seen)
                     : "r"(&item->lock), "r"(1)
                     : "memory");
#else
    (void)item;
#endif
}

static inline void release(struct memd *item)
{
#if defined(LOCK_CALLS)
    mb_call1(MB_RELEASE, (long)item);
#elif defined(LOCK_SPIN)
    __asm__ volatile("" ::: "memory");
    *(volatile uint32_t *)&item->lock = 0;
#elif defined(LOCK_WAIT)
    __asm__ volatile("amoswap.w.rl zero, zero, %0" : "+A"(item->lock) : : "memory");
#else
    (void)item;
#endif
}

#endif
