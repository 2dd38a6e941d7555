// SPDX-License-Identifier: Apache-2.0 OR MIT
// The firmware of a receive engine as a packet handler of SPINE (netproc/spine/handler.h): each packet
// carries one descriptor (struct operation of list.h), and its result is the answer.
//
// Why the order of the workers changes times and never outcomes:
// - Packets are numbered in the order in which the engine accepted them. An operation waits for its
//   turn: the number of the next operation that may enter a list. It acquires the lock of the head
//   of its list before it passes the turn to the next number. So operations enter a list in the
//   order of their numbers, whichever worker takes which packet.
// - Workers take packets from one work list in the order of their numbers, and keep a packet until
//   it is complete. So the oldest operation that has not entered is with a worker, or is the next
//   one to be taken, and no operation waits for one that has no worker.
// - The turn passes only when no operation that walks the other list is outstanding, or the next
//   operation walks the same list as they do.
// - Within a list, lock coupling keeps the order; list.c has the argument.
// - Memory orders accesses weakly. Locks and turns are acquired by .aq and released by .rl, so that
//   a hart sees what the holder before it has written. Descriptors are read by their own worker.
// Tests: `every_outcome_of_a_random_stream_is_the_oracles`, `the_order_needs_turns_and_kinds`.

#define LOCK_WAIT

#include "handler.h"

#include "../../processor/firmware/list.c"

// Tests have programs without one of the two.
#ifndef WITH_TURNS
#define WITH_TURNS 1
#endif
#ifndef WITH_KINDS
#define WITH_KINDS 1
#endif

// A packet is an IPv4 header without options, a UDP header, 4 bytes that align the descriptor to 8,
// and the descriptor.
enum { DESCRIPTOR_OFFSET = 20 + 8 + 4 };

// The answer in a descriptor: partner and found.
enum { ANSWER_BYTES = sizeof(struct operation) - offsetof(struct operation, partner) };

static struct receiver receiver;

// Whose turn it is. Number n waits for the value n in element n % NP_HARTS, so that passing the
// turn wakes one hart only. Numbers of operations that wait are consecutive and at most as many as
// harts, so no two wait for one element.
static struct {
    _Alignas(NP_LINE) uint64_t number;
} turns[NP_HARTS];

// Operations that have entered a list and are not done.
static struct {
    _Alignas(NP_LINE) uint32_t count;
    uint32_t walk_posted; // the list that they walk; changed by the holder of the turn
} outstanding;

void np_handler_init(void)
{
    receiver_init(&receiver);
    // The host provides memory for entries from the end of the heap on.
    receiver.pool.fresh = (struct memd *)np_config.heap_end;
    receiver.pool.limit = (struct memd *)NP_DEVICE;
}

static inline void wait_for_turn(uint64_t number)
{
    uint64_t seen;
    __asm__ volatile("1: lr.d.aq %0, (%1)\n"
                     "   beq %0, %2, 2f\n"
                     "   " WAIT_FOR_STORE "   j 1b\n"
                     "2:"
                     : "=&r"(seen)
                     : "r"(&turns[number % NP_HARTS].number), "r"(number)
                     : "memory");
}

static inline void pass_turn(uint64_t number)
{
    __asm__ volatile("amoswap.d.rl zero, %1, %0" : "+A"(turns[number % NP_HARTS].number) : "r"(number) : "memory");
}

static inline void wait_for_none_outstanding(void)
{
    uint32_t seen;
    __asm__ volatile("1: lr.w.aq %0, (%1)\n"
                     "   beqz %0, 2f\n"
                     "   " WAIT_FOR_STORE "   j 1b\n"
                     "2:"
                     : "=&r"(seen)
                     : "r"(&outstanding.count)
                     : "memory");
}

// Enters the list that the operation walks: on return its head is locked.
static inline void enter(uint64_t number, uint32_t walk_posted)
{
    if (WITH_TURNS)
        wait_for_turn(number);
    if (WITH_KINDS && outstanding.walk_posted != walk_posted) {
        wait_for_none_outstanding();
        outstanding.walk_posted = walk_posted;
    }
    __asm__ volatile("amoadd.w zero, %1, %0" : "+A"(outstanding.count) : "r"(1) : "memory");
    acquire(walk_posted ? &receiver.posted.head : &receiver.unexpected.head);
    if (WITH_TURNS)
        pass_turn(number + 1);
}

static inline void leave(void)
{
    __asm__ volatile("amoadd.w.rl zero, %1, %0" : "+A"(outstanding.count) : "r"(-1) : "memory");
}

unsigned np_handler(struct np_packet *packet)
{
    struct operation *op = (struct operation *)(void *)(np_network(packet) + DESCRIPTOR_OFFSET);
    enter(packet->number, (uint32_t)walks_posted(op));
    receiver_perform(&receiver, op);
    leave();
    np_result(packet, &op->partner, ANSWER_BYTES);
    return np_consume(packet);
}
