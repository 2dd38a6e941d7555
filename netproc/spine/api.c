// SPDX-License-Identifier: Apache-2.0 OR MIT
// The functions of handler.h, and errors.

#include "spine.h"

// One line more than the state, so that equal positions are in different cache sets.
static struct {
    _Alignas(NP_LINE) uint8_t bytes[NP_STATE_BYTES + NP_LINE];
} states[NP_HARTS];

void np_fail(uint32_t error, const void *pc, uint64_t value)
{
    np_self->error = error;
    np_self->error_pc = (uint64_t)pc;
    np_self->error_value = value;
    set_phase(NP_PHASE_ERROR);
    device_store(NP_REG_ERROR, error);
    for (;;)
        __asm__ volatile(PAUSE : : : "memory");
}

void np_result(struct np_packet *packet, const void *bytes, size_t length)
{
    if (length > NP_RESULT_BYTES)
        np_fail(NP_ERROR_RESULT, __builtin_return_address(0), length);
    packet->result_length = (uint8_t)length;
    memcpy(packet->result, bytes, length);
}

void *np_hart_state(void)
{
    return states[np_self->hart].bytes;
}

void *np_allocate(size_t bytes)
{
    if (np_self->phase != NP_PHASE_START)
        np_fail(NP_ERROR_ALLOCATE, __builtin_return_address(0), bytes);
    return np_take_heap(bytes);
}

void np_acquire(np_lock *lock)
{
    uint32_t self = np_self->hart + 1, seen;
    for (;;) {
        __asm__ volatile("1: lr.w.aq %0, (%1)\n"
                         "   bnez %0, 2f\n"
                         "   sc.w %0, %2, (%1)\n"
                         "   bnez %0, 1b\n"
                         "2:"
                         : "=&r"(seen)
                         : "r"(&lock->owner), "r"(self)
                         : "memory");
        if (LIKELY(!seen))
            break;
        if (seen == self)
            np_fail(NP_ERROR_RELOCK, __builtin_return_address(0), (uint64_t)lock);
        wait_for_change(&lock->owner, seen, np_config.idle);
    }
    np_self->locks++;
}

void np_release(np_lock *lock)
{
    if (*(volatile uint32_t *)&lock->owner != np_self->hart + 1)
        np_fail(NP_ERROR_UNLOCK, __builtin_return_address(0), (uint64_t)lock);
    np_self->locks--;
    lock_release(&lock->owner);
}
