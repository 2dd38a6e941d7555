// SPDX-License-Identifier: Apache-2.0 OR MIT
// The start of the kernel on every hart.

#include "kernel.h"

struct hart harts[MOST_HARTS];
struct handover *handover;

static uint32_t started; // hart 0 has set up everything

void kernel_main(uint64_t number, uint64_t handover_address, uint64_t stack) __attribute__((noreturn));

void kernel_main(uint64_t number, uint64_t handover_address, uint64_t stack)
{
    struct hart *hart = &harts[number];
    hart->number = number;
    hart->stack = stack;
    if (number == 0) {
        handover = at(handover_address);
        if (handover->magic != HANDOVER_MAGIC || handover->version != HANDOVER_VERSION)
            panic(hart, "the hand-over has another version");
        if (handover->harts > MOST_HARTS || handover->programs > MOST_PROGRAMS)
            panic(hart, "too many harts or programs");
        pages_start();
        for (uint64_t i = 0; i < handover->harts; i++) {
            uint64_t page = page_take(hart);
            if (!page)
                panic(hart, "no memory");
            harts[i].buffer = at(page);
        }
        programs_start(hart);
        __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
        __asm__ volatile(".word 0x0100000f"); // pause
    csr_write("scounteren", 7ul); // cycle, time and instret in user mode
    csr_write("sie", 1ul << 1 | 1ul << 5 | 1ul << 9);
    __asm__ volatile("mv tp, %0" : : "r"(hart));
    resume(schedule(hart));
}
