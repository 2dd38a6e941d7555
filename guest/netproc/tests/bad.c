// SPDX-License-Identifier: Apache-2.0 OR MIT
// A handler that breaks one rule for each value of the first byte of the payload, and keeps all of
// them for 'k'. For tests.

#include "handler.h"

static np_lock lock;
static np_counter handled;
// Addresses without memory. Variables, because compilers refuse constant ones.
static volatile uintptr_t low = 8, high = 0x7000000000;

// Counts packets in ways that are right only if locks and the state of harts are.
static unsigned count(struct np_packet *packet)
{
    static uint64_t by_lock;
    struct {
        uint64_t lock, hart, flow;
    } result;
    uint64_t *state = np_hart_state();
    result.hart = ++*state;
    np_acquire(&lock);
    result.lock = ++by_lock;
    np_release(&lock);
    uint64_t *flow = np_flow(packet, NULL);
    if (!flow)
        return np_drop(packet);
    result.flow = ++*flow;
    np_flow_release();
    np_result(packet, &result, sizeof result);
    return np_forward(packet, 7);
}

__attribute__((noinline)) static unsigned loop_for_ever(void)
{
    for (volatile int again = 1; again;)
        ;
    return NP_DROP;
}

unsigned np_handler(struct np_packet *packet)
{
    size_t bytes;
    const uint8_t *payload = np_payload(packet, &bytes);
    static const uint8_t long_result[NP_RESULT_BYTES + 1];
    np_count(&handled, 1);
    switch (bytes ? payload[0] : 0) {
    case 'k':
        return count(packet);
    case 'f': // a load from an address without memory
        return *(volatile uint32_t *)low;
    case 'i': // an illegal instruction
        __asm__ volatile(".4byte 0");
        break;
    case 'j': // a jump to data
        ((void (*)(void))(uintptr_t)&lock)();
        break;
    case 'l':
        return loop_for_ever();
    case 'w': // a store outside of all memory
        *(volatile uint64_t *)high = 1;
        break;
    case 's': // a store to the memory of SPINE
        ((volatile struct np_status *)np_status)[np_hart() ? 0 : 1].packets = 0;
        break;
    case 'c': // a store to code
        *(volatile uint32_t *)(uintptr_t)np_handler_text = 0;
        break;
    case 'v': // no verdict
        return 0;
    case 'h': // returns with a lock
        np_acquire(&lock);
        break;
    case 'r': // locks twice
        np_acquire(&lock);
        np_acquire(&lock);
        break;
    case 'u': // unlocks what it has not locked
        np_release(&lock);
        break;
    case 'b': // a result that is too long
        np_result(packet, long_result, sizeof long_result);
        break;
    case 'a': // allocates memory while packets are handled
        np_allocate(64);
        break;
    case 'o': // holds two flows
        np_flow(packet, NULL);
        np_flow(packet, NULL);
        break;
    case 'e': // unlocks a flow that it does not hold
        np_flow_release();
        break;
    default:
        break;
    }
    return np_forward(packet, 0);
}
