// SPDX-License-Identifier: Apache-2.0 OR MIT
// One lock for each item, in three styles: none in a program of one thread, a call that the host's lock hardware serves
// (LOCK_CALLS), or a word in the item that threads spin on (LOCK_SPIN).
//
// Whoever releases a lock need not be who acquired it. There are no barriers: the simulated cores execute in order, and a
// store is seen by all when it is executed. Machines that reorder would need isync and lwsync, or .aq and .rl, here.

#ifndef MB_GUEST_LOCK_H
#define MB_GUEST_LOCK_H

#include "host.h"
#include "match.h"

#if defined(LOCK_CALLS) || defined(LOCK_SPIN)
#define THREADS 1
#else
#define THREADS 0
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
#else
    (void)item;
#endif
}

#endif
