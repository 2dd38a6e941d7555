// SPDX-License-Identifier: Apache-2.0 OR MIT
// The start of the program: hart 0 checks the configuration, divides the heap, builds the tables
// and starts the controller; the other harts wait for that.

#include "spine.h"

struct np_config np_config __attribute__((section(".data")));
struct np_status np_status[NP_HARTS] __attribute__((aligned(NP_LINE)));
uint32_t np_code[NP_CODE_BYTES / 4] __attribute__((aligned(4096)));

static uint64_t heap;
// 1 when workers may run.
static uint32_t ready __attribute__((aligned(NP_LINE)));

static int is_ready(void)
{
    return (int)*(volatile uint32_t *)&ready;
}

void *np_take_heap(size_t bytes)
{
    if (bytes > np_config.heap_end - heap)
        np_fail(NP_ERROR_HEAP, __builtin_return_address(0), bytes);
    uint64_t at = heap;
    uint64_t end = (heap + bytes + NP_LINE - 1) & -(uint64_t)NP_LINE;
    heap = end < np_config.heap_end ? end : np_config.heap_end;
    return (void *)at;
}

static void expect(int condition, size_t offset)
{
    if (!condition)
        np_fail(NP_ERROR_CONFIG, __builtin_return_address(0), offset);
}

static int is_power_of_two(uint32_t value)
{
    return value && !(value & (value - 1));
}

#define EXPECT(condition, field) expect(condition, offsetof(struct np_config, field))

static void check_config(uint64_t harts)
{
    const struct np_config *c = &np_config;
    EXPECT(c->magic == NP_MAGIC, magic);
    EXPECT(c->harts >= 1 && c->harts <= NP_HARTS && c->harts == harts, harts);
    EXPECT(c->classifier <= NP_CLASSIFIER_TABLE, classifier);
    EXPECT(c->classify_in <= NP_CLASSIFY_IN_OS, classify_in);
    EXPECT(c->idle <= NP_IDLE_SPIN, idle);
    EXPECT(c->os_idle <= NP_IDLE_SPIN, os_idle);
    EXPECT(c->os <= NP_OS_SPREAD, os);
    EXPECT(is_power_of_two(c->ring_slots) && c->ring_slots >= 2 && c->ring_slots <= 4096, ring_slots);
    EXPECT(c->buffers > c->ring_slots && c->buffers <= 1u << 20, buffers);
    EXPECT(c->buffer_bytes >= 64 && c->buffer_bytes <= 16000, buffer_bytes);
    EXPECT(c->default_application < NP_APPS || c->default_application == NP_APP_NONE, default_application);
    EXPECT(c->filter_count <= NP_FILTERS, filter_count);
    EXPECT(is_power_of_two(c->flow_buckets) && c->flow_buckets <= 1u << 24, flow_buckets);
    EXPECT(c->flows <= 1u << 24, flows);
    EXPECT(c->heap % NP_LINE == 0 && c->heap <= c->heap_end, heap);
    EXPECT(c->heap_end <= 1ul << 31, heap_end);
}

// The entry of each hart.
__attribute__((noreturn)) void np_main(uint64_t hart, uint64_t harts)
{
    np_self->hart = (uint32_t)hart;
    np_self->packet = NP_NO_PACKET;
    if (hart == 0) {
        heap = np_config.heap;
        check_config(harts);
        np_flow_start();
        np_ip_forward_start();
        np_3des_start();
        np_classify_start();
        if (np_handler_init)
            np_handler_init();
        np_os_start();
        device_store(NP_REG_READY, 1);
        __asm__ volatile("fence rw, w" : : : "memory");
        *(volatile uint32_t *)&ready = 1;
    } else {
        while (!is_ready())
            wait_for_change(&ready, 0, np_config.idle);
        __asm__ volatile("fence r, rw" : : : "memory");
    }
    // Compiled filters are in memory; this hart may have fetched other bytes from there.
    __asm__ volatile("fence.i" : : : "memory");
    if (np_config.os == NP_OS_SPREAD || harts == 1)
        np_spread_loop();
    if (hart == 0)
        np_os_loop();
    np_worker_loop();
}
