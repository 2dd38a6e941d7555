// SPDX-License-Identifier: Apache-2.0 OR MIT
// A handler that breaks one rule for each value of the first byte of the payload, and keeps all of
// them for 'k'. For tests.

#include "handler.h"

static np_lock lock;
static np_counter handled;
// Memory of np_allocate, a line for each hart.
static uint8_t (*lines)[NP_LINE];
// Addresses without memory. Variables, because compilers refuse constant ones.
static volatile uintptr_t low = 8, high = 0x7000000000;

extern uint64_t np_stacks[];
void *memset(void *to, int value, size_t bytes);

void np_handler_init(void)
{
    lines = np_allocate(sizeof *lines * NP_HARTS);
}

// Counts packets in ways that are right only if locks and the state of harts are.
static unsigned count(struct np_packet *packet)
{
    static uint64_t by_lock;
    struct {
        uint64_t lock, hart, flow;
    } result;
    uint64_t *state = np_hart_state();
    result.hart = ++*state;
    lines[np_hart()][0]++;
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
    case 'A': // an atomic to the memory of SPINE
        np_count((np_counter *)(void *)np_status, 1);
        break;
    case 'M': // a function of SPINE writes there
        memset(np_status, 0, 4 * sizeof *np_status);
        break;
    case 'S': // a store to the stack of the OS thread
        *(volatile uint64_t *)(np_stacks + 8) = 0;
        break;
    case 'H': // a store to the state of another hart
        ((volatile uint8_t *)np_hart_state())[-NP_STATE_BYTES] = 0;
        break;
    case 'B': // a store to the buffer before the own one
        ((volatile uint8_t *)packet)[-1] = 0;
        break;
    case 'E': // a store behind the own buffer
        packet->data[np_config.buffer_bytes] = 0;
        break;
    case 'F': { // a store to a flow that was released
        volatile uint64_t *flow = np_flow(packet, NULL);
        np_flow_release();
        *flow = 0;
        break;
    }
    case 'T': // a store to a table of SPINE
        *(volatile uint64_t *)np_config.heap = 0;
        break;
    case 'N': // a store to memory that was not allocated
        *(volatile uint64_t *)(np_config.heap_end - 8) = 0;
        break;
    case 'D': // a store to the controller
        *(volatile uint64_t *)(NP_DEVICE + NP_REG_REFILL) = 0;
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
