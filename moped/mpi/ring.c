// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "ring.h"

struct mb_shared *mb_shared;
static struct mb_slot *rings;
// Position in each queue, of the packets that this process writes and reads.
static unsigned char *written, *handled;
// What is announced to each process: packets, also those that are not in the queue yet, and withdrawals: those that
// began in the upper half, those that ended in the lower one.
static struct announced {
    _Alignas(64) _Atomic uint32_t packets;
    _Atomic uint64_t withdrawals;
} *announced;
static uint32_t handled_packets;
static int is_announced;

static struct mb_slot *slot(int from, int to, unsigned position)
{
    return &rings[((size_t)from * (size_t)mb.size + (size_t)to) * MB_RING_PACKETS + position];
}

// A queue is not page aligned: each of its pages has a byte at a multiple of PAGE from its begin, or its last byte.
enum { PAGE = 4096, RING_BYTES = MB_RING_PACKETS * (int)sizeof(struct mb_slot) };

// Maps the pages of the queues of this process, which the first messages would do otherwise.
static void touch(void)
{
    for (int other = 0; other < mb.size; other++) {
        if (other == mb.rank) continue;
        // Only the sender writes: another process may have sent already.
        volatile unsigned char *to = (volatile unsigned char *)slot(mb.rank, other, 0);
        const volatile unsigned char *from = (const volatile unsigned char *)slot(other, mb.rank, 0);
        for (int at = 0; at < RING_BYTES; at += PAGE) {
            to[at] = 0;
            (void)from[at];
        }
        to[RING_BYTES - 1] = 0;
        (void)from[RING_BYTES - 1];
    }
}

void mb_ring_start(void)
{
    const size_t lines = sizeof *mb_shared + (size_t)mb.size * sizeof *announced;
    const size_t head = (lines + 4095) / 4096 * 4096, pairs = (size_t)mb.size * (size_t)mb.size;
    unsigned char *segment = mb_platform_shared(head + pairs * MB_RING_PACKETS * sizeof(struct mb_slot));
    if (segment == NULL) mb_panic("no shared memory for %d processes", mb.size);
    mb_shared = (struct mb_shared *)segment;
    announced = (struct announced *)(segment + sizeof *mb_shared);
    rings = (struct mb_slot *)(segment + head);
    written = mb_allocate_zeroed((size_t)mb.size);
    handled = mb_allocate_zeroed((size_t)mb.size);
    if (mb_option_number("MB_MPI_TOUCH", 0, 0, 1)) touch();
}

struct mb_slot *mb_ring_next(int to)
{
    struct mb_slot *next = slot(mb.rank, to, written[to]);
    return atomic_load_explicit(&next->is_full, memory_order_acquire) ? NULL : next;
}

void mb_ring_publish(int to)
{
    // Announced first: otherwise a packet that is handled early would hide one of another sender.
    if (is_announced) atomic_fetch_add_explicit(&announced[to].packets, 1, memory_order_relaxed);
    atomic_store_explicit(&slot(mb.rank, to, written[to])->is_full, 1, memory_order_release);
    written[to] = (unsigned char)((written[to] + 1) % MB_RING_PACKETS);
}

struct mb_slot *mb_ring_oldest(int from)
{
    struct mb_slot *oldest = slot(from, mb.rank, handled[from]);
    return atomic_load_explicit(&oldest->is_full, memory_order_acquire) ? oldest : NULL;
}

void mb_ring_release(int from)
{
    atomic_store_explicit(&slot(from, mb.rank, handled[from])->is_full, 0, memory_order_release);
    handled[from] = (unsigned char)((handled[from] + 1) % MB_RING_PACKETS);
    handled_packets++;
}

void mb_ring_announce(void)
{
    is_announced = 1;
}

int mb_ring_may_have(void)
{
    return !is_announced || atomic_load_explicit(&announced[mb.rank].packets, memory_order_acquire) != handled_packets;
}

void mb_ring_begin_withdrawal(int to)
{
    atomic_fetch_add(&announced[to].withdrawals, (uint64_t)1 << 32);
}

void mb_ring_end_withdrawal(int to)
{
    atomic_fetch_add(&announced[to].withdrawals, 1);
}

uint64_t mb_ring_withdrawals(void)
{
    return atomic_load(&announced[mb.rank].withdrawals);
}

int mb_ring_is_withdrawing(uint64_t withdrawals)
{
    return (uint32_t)(withdrawals >> 32) != (uint32_t)withdrawals;
}
