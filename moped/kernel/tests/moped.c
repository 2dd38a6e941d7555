// SPDX-License-Identifier: Apache-2.0 OR MIT
// A user program for the tests of the whole machine: the kernel and MOPED. Its first argument names
// what it does.

#include "../../mpi/moped.h"
#include "calls.h"

enum { CALL_EXIT = 93, CALL_MUNMAP = 215, CALL_MMAP = 222, CALL_MPROTECT = 226, PAGE = 4096, FIXED = 0x32 };

static long call(long number, long a, long b, long c, long d)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = -1;
    register long a5 __asm__("a5") = 0;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

// Ends with the number of the line: the test shows it.
#define CHECK(condition)                                       \
    do {                                                       \
        if (!(condition))                                      \
            call(CALL_EXIT, __LINE__ % 251 + 1, 0, 0, 0);      \
    } while (0)

static uint32_t rank, size;
static uintptr_t port;
static uint32_t *arrived; // in the shared segment

static void pause(void)
{
    __asm__ volatile(".word 0x0100000f" : : : "memory");
}

static void barrier(void)
{
    static uint32_t round;
    round++;
    __atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < round * size)
        pause();
}

static uint8_t *map(uint8_t *at, uint64_t pages)
{
    uint8_t *mapped = (uint8_t *)call(CALL_MMAP, (long)at, (long)pages * PAGE, 3, at ? FIXED : 0x22);
    CHECK((long)mapped > 0);
    return mapped;
}

// A send to `other`, or a receive from it.
static uint32_t post(unsigned kind, uint32_t other, uint32_t tag, const void *buffer, uint32_t bytes)
{
    uint32_t id = moped_reserve(port);
    CHECK(id != MOPED_REFUSED);
    uint64_t receiver = kind == MOPED_SEND ? other : rank;
    uint32_t sender = kind == MOPED_SEND ? rank : other;
    moped_store(port, id, MOPED_ADDRESS, (uintptr_t)buffer);
    moped_store(port, id, MOPED_LENGTH, bytes);
    moped_store(port, id, MOPED_TAG, tag | receiver << 32);
    __asm__ volatile("fence w, o" : : : "memory");
    moped_store(port, id, MOPED_GO, moped_go(kind, 1, sender, 0, 0));
    return id;
}

static uint32_t state(uint32_t id)
{
    return moped_poll(port, id, MOPED_STATE) & MOPED_STATE_BITS;
}

static uint32_t wait(uint32_t id)
{
    uint32_t found;
    while ((found = state(id)) < MOPED_COMPLETE)
        pause();
    __asm__ volatile("fence i, rw" : : : "memory");
    return found;
}

static uint8_t byte(uint64_t at, uint64_t seed)
{
    return (uint8_t)((at * 2654435761u + seed * 40503u) >> 7);
}

// Buffers whose pages do not exist so far: page faults of the device for sends and receives.
static int pages(void)
{
    enum { PAGES = 9, BYTES = PAGES * PAGE - 300 };
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t offset = round * 37;
        uint8_t *buffer = map(0, PAGES);
        if (rank == 0) {
            // Every second page of the send was never touched.
            for (uint64_t i = 0; i < BYTES; i++)
                if ((offset + i) / PAGE % 2 == 0)
                    buffer[offset + i] = byte(i, round);
            CHECK(wait(post(MOPED_SEND, 1, round, buffer + offset, BYTES)) == MOPED_COMPLETE);
        } else {
            uint32_t place = 291 - offset;
            CHECK(wait(post(MOPED_RECEIVE, 0, round, buffer + place, BYTES)) == MOPED_COMPLETE);
            for (uint64_t i = 0; i < BYTES; i++)
                CHECK(buffer[place + i] == ((offset + i) / PAGE % 2 == 0 ? byte(i, round) : 0));
            for (uint32_t i = 0; i < place; i++)
                CHECK(buffer[i] == 0);
        }
        CHECK(call(CALL_MUNMAP, (long)buffer, PAGES * PAGE, 0, 0) == 0);
    }
    return 0;
}

// A receive's page, whose translation the device has made, is replaced before the message comes.
static int unmap(void)
{
    for (uint32_t round = 0; round < 4; round++) {
        if (rank == 1) {
            uint8_t *buffer = map(0, 1);
            buffer[0] = 1;
            uint32_t id = post(MOPED_RECEIVE, 0, round, buffer, PAGE);
            CHECK(state(id) == MOPED_PENDING);
            CHECK(call(CALL_MUNMAP, (long)buffer, PAGE, 0, 0) == 0);
            // The old page is this one's, or still free.
            uint8_t *other = map(0, 1);
            while (other == buffer)
                other = map(0, 1);
            other[0] = 2;
            CHECK(map(buffer, 1) == buffer);
            barrier();
            CHECK(wait(id) == MOPED_COMPLETE);
            for (uint64_t i = 0; i < PAGE; i++) {
                CHECK(buffer[i] == byte(i, round));
                CHECK(other[i] == (i == 0 ? 2 : 0));
            }
            barrier();
        } else {
            static uint8_t message[PAGE];
            for (uint64_t i = 0; i < PAGE; i++)
                message[i] = byte(i, round);
            barrier();
            CHECK(wait(post(MOPED_SEND, 1, round, message, PAGE)) == MOPED_COMPLETE);
            barrier();
        }
    }
    return 0;
}

// Buffers that the process must not use: both sides are told, and the kernel's memory is out of reach.
static int bad(void)
{
    static const uint64_t wrong[] = {0, 0x1000, 0x2000000000, 0x3ffffff000, 0xffffffc080200000 & ((1ul << 44) - 1)};
    static uint8_t good[2 * PAGE];
    uint8_t *readable = map(0, 1);
    CHECK(call(CALL_MPROTECT, (long)readable, PAGE, 1, 0) == 0);
    for (uint32_t i = 0; i < 2 * (sizeof wrong / sizeof *wrong); i++) {
        const void *place = (const void *)wrong[i / 2];
        const void *buffer = rank == i % 2 ? place : good;
        CHECK(wait(post(rank == 0 ? MOPED_SEND : MOPED_RECEIVE, 1 - rank, i, buffer, 100)) == MOPED_BAD_BUFFER);
    }
    const void *buffer = rank == 0 ? good : readable;
    CHECK(wait(post(rank == 0 ? MOPED_SEND : MOPED_RECEIVE, 1 - rank, 90, buffer, 100)) == MOPED_BAD_BUFFER);
    // A read-only page may be sent.
    buffer = rank == 0 ? readable : good;
    CHECK(wait(post(rank == 0 ? MOPED_SEND : MOPED_RECEIVE, 1 - rank, 91, buffer, 100)) == MOPED_COMPLETE);
    return 0;
}

// A process that moves between its operations: its messages keep their order, and it finds its descriptors.
static int move(void)
{
    enum { ROUNDS = 12, DEPTH = 3 };
    static uint32_t words[ROUNDS * DEPTH];
    uint32_t ids[DEPTH];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < DEPTH; i++) {
            uint32_t index = round * DEPTH + i;
            if (rank == 0)
                words[index] = index + 1;
            // One tag: the order alone tells the messages apart.
            ids[i] = post(rank == 0 ? MOPED_SEND : MOPED_RECEIVE, 1 - rank, 7, &words[index], 4);
            CHECK(mb_move((long)((round + i + rank) % 4)) == 0);
        }
        for (uint32_t i = 0; i < DEPTH; i++)
            CHECK(wait(ids[i]) == MOPED_COMPLETE);
    }
    for (uint32_t i = 0; i < ROUNDS * DEPTH; i++)
        CHECK(words[i] == i + 1);
    return 0;
}

// Rank 0 ends with descriptors of every kind; the device must keep none.
static int leave(void)
{
    static uint8_t buffer[3 * PAGE];
    if (rank == 0) {
        for (uint32_t i = 0; i < 6; i++)
            post(MOPED_RECEIVE, 1, 100 + i, buffer, 8);
        for (uint32_t i = 0; i < 6; i++)
            post(MOPED_SEND, 1, 200 + i, buffer, 8);
        CHECK(moped_reserve(port) != MOPED_REFUSED);
        uint32_t found = post(MOPED_MATCHED_PROBE, 1, 50, 0, 0);
        while ((moped_poll(port, found, MOPED_PEEK) & MOPED_STATE_BITS) != MOPED_FOUND)
            pause();
        // Matched: the copy is under way.
        post(MOPED_SEND, 1, 60, buffer, sizeof buffer);
        return 0;
    }
    uint32_t send = post(MOPED_SEND, 0, 50, buffer, 100);
    CHECK(wait(post(MOPED_RECEIVE, 0, 60, buffer, sizeof buffer)) == MOPED_COMPLETE);
    CHECK(wait(send) == MOPED_COMPLETE);
    return 0;
}

// Rank 1 tries to reach the descriptors of rank 0 through its own ports.
static int hostile(void)
{
    static uint64_t value;
    uint32_t *id = arrived + 16;
    if (rank == 0) {
        *id = post(MOPED_RECEIVE, 1, 1, &value, 8);
        barrier();
        barrier();
        CHECK(wait(*id) == MOPED_COMPLETE && value == 42);
        return 0;
    }
    barrier();
    for (unsigned word = MOPED_STATE; word <= MOPED_BYTES; word++)
        CHECK(moped_poll(port, *id, word) == MOPED_NONE);
    moped_store(port, *id, MOPED_CANCEL, 0);
    moped_store(port, *id, MOPED_ADDRESS, 0x1000);
    for (uint32_t descriptor = 0; descriptor < 0x10000; descriptor += 251)
        moped_store(port, descriptor, MOPED_CANCEL, 0);
    barrier();
    value = 42;
    CHECK(wait(post(MOPED_SEND, 0, 1, &value, 8)) == MOPED_COMPLETE);
    return 0;
}

// Nobody sends.
static void wait_for_ever(void)
{
    static uint8_t buffer[8];
    wait(post(MOPED_RECEIVE, (rank + 1) % size, 1, buffer, 8));
}

static int same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    rank = (uint32_t)mb_rank();
    size = (uint32_t)mb_size();
    arrived = mb_shared(PAGE);
    CHECK((long)arrived > 0);
    uint8_t *ports = mb_ports();
    CHECK((long)ports > 0);
    port = (uintptr_t)ports + rank * MOPED_PORT_BYTES;
    if (same(what, "pages"))
        return pages();
    if (same(what, "unmap"))
        return unmap();
    if (same(what, "bad"))
        return bad();
    if (same(what, "move"))
        return move();
    if (same(what, "leave"))
        return leave();
    if (same(what, "hostile"))
        return hostile();
    if (same(what, "wait"))
        wait_for_ever();
    if (same(what, "illegal") && rank == 1)
        __asm__ volatile(".word 0xffffffff");
    if (same(what, "illegal"))
        wait_for_ever();
    return 250;
}
