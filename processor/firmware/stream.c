// SPDX-License-Identifier: Apache-2.0 OR MIT
// A fixed stream of operations on a receiver's lists, for tests: prints a checksum of its 4000
// answers.
//
// It runs without this simulator. There are 24 different envelopes, so that lists have tens of
// entries; phases with more receives and with more messages alternate. The checksum is FNV-1a over
// the word `found` of each answer and, if a search found something, the word `partner`.

#include "list.h"

enum { OPERATIONS = 4000, ENTRIES = 1024 };

static struct memd entries[ENTRIES] __attribute__((aligned(64)));
static struct receiver receiver;
static uint32_t state = 2463534242;

// Marsaglia's xorshift with 13, 17, 5; the upper bits are the more random ones.
static uint32_t below(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

static uint64_t checksum = 0xcbf29ce484222325;

static void add(uint64_t word)
{
    checksum = (checksum ^ word) * 0x100000001b3;
}

// Operation `number`. Its name is its number; a cancel names one of the last 64 operations.
static void make(struct operation *op, uint32_t number)
{
    uint32_t kind = below(100), envelope = below(24), wildcard = below(8);
    uint32_t posts = number / 500 % 2 ? 55 : 25;
    op->header = (struct ptlhdr){.match = (uint64_t)(envelope / 4) << 32 | envelope % 4, .initiator_nid = envelope % 3};
    op->care = ~(uint64_t)0;
    op->name = number;
    if (kind < 80 - posts) {
        op->header.op = PTL_MSG_PUT;
        return;
    }
    if (wildcard == 0)
        op->care = ~(uint64_t)3;
    if (wildcard == 1)
        op->header.initiator_pid = ANY_PID;
    if (kind < 80) {
        op->header.op = OP_POST;
    } else if (kind < 90) {
        op->header.op = OP_CANCEL;
        op->name = number - below(number < 64 ? number + 1 : 64);
    } else {
        op->header.op = kind < 95 ? OP_PROBE : OP_MATCHED_PROBE;
    }
}

int main(void)
{
    receiver_init(&receiver);
    receiver.pool.fresh = entries;
    receiver.pool.limit = entries + ENTRIES;
    for (uint32_t number = 0; number < OPERATIONS; number++) {
        struct operation op;
        make(&op, number);
        receiver_perform(&receiver, &op);
        add(op.found);
        if (op.found && op.header.op != OP_CANCEL)
            add(op.partner);
    }
    char line[17];
    for (int i = 0; i < 16; i++)
        line[i] = "0123456789abcdef"[checksum >> (60 - 4 * i) & 15];
    line[16] = '\n';
    host_write(line, sizeof line);
    return 0;
}
