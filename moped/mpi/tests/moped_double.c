// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "moped_double.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../moped.h"

enum { MAX_TABLE = 64, LEAST_STAGE = 256, MOST_STAGE = 16384 };

enum state { FREE, RESERVED, UNMATCHED, MATCHED, FOUND, COMPLETE, REVOKED, CANCELLED, NO_MESSAGE };

struct descriptor {
    enum state state;
    int owner, home; // home: the MOPED that matches it
    int is_at_home;  // has an entry there
    int kind, any_rank, any_tag;
    uint32_t context, rank, tag, dest;
    uint64_t length, order;
    unsigned char *address; // in the owner's address space
    int partner;            // index of the other side
    uint64_t moved, staged; // of a receive: bytes that it has, and that wait in its stage
    uint64_t total, bytes;  // bytes to move, and of the message
    int is_truncated;
    uint32_t found_rank, found_tag;
};

struct double_state {
    atomic_flag lock;
    uint32_t is_back_off, episode;
    uint64_t order;
    struct descriptor descriptor[];
};

static struct double_state *device;
static unsigned char *stages;
static size_t stage_bytes;
static int own, count, table, literal;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&device->lock, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&device->lock, memory_order_release);
}

void mb_double_start(void *memory, size_t bytes, int rank, int ranks, int entries, int is_literal)
{
    if (entries < 2 || entries > MAX_TABLE) abort();
    device = memory;
    own = rank;
    count = ranks * entries;
    table = entries;
    literal = is_literal;
    const size_t head = (sizeof *device + (size_t)count * sizeof device->descriptor[0] + 63) / 64 * 64;
    stages = (unsigned char *)memory + head;
    stage_bytes = (bytes - head) / (size_t)count / 64 * 64;
    if (stage_bytes > MOST_STAGE) stage_bytes = MOST_STAGE;
    if (stage_bytes < LEAST_STAGE) abort();
}

// Entries of the table of one MOPED: descriptors of its process, and those that it matches.
static int occupied(int moped)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        const struct descriptor *d = &device->descriptor[i];
        if (d->state == FREE) continue;
        n += d->owner == moped || (d->is_at_home && d->home == moped && (d->state == UNMATCHED || d->state == MATCHED));
    }
    return n;
}

static void back_off(void)
{
    if (device->is_back_off) return;
    device->is_back_off = 1;
    device->episode++;
}

static void release(struct descriptor *d)
{
    d->state = FREE;
    if (!literal || !device->is_back_off) return;
    for (int i = 0; i < count; i++) {
        if (device->descriptor[i].state != FREE) return;
    }
    device->is_back_off = 0;
}

uint32_t mb_double_reserve(void)
{
    uint32_t result = MOPED_REFUSED;
    lock();
    if (!device->is_back_off && occupied(own) >= table) back_off();
    for (int i = own * table; !device->is_back_off && i < (own + 1) * table; i++) {
        if (device->descriptor[i].state != FREE) continue;
        memset(&device->descriptor[i], 0, sizeof device->descriptor[i]);
        device->descriptor[i].state = RESERVED;
        device->descriptor[i].owner = own;
        result = (uint32_t)i;
        break;
    }
    unlock();
    return result;
}

static int match(const struct descriptor *send, const struct descriptor *receive)
{
    return send->context == receive->context && (int)send->dest == receive->owner &&
           (receive->any_rank || receive->rank == send->rank) && (receive->any_tag || receive->tag == send->tag);
}

static void join(struct descriptor *send, struct descriptor *receive)
{
    send->partner = (int)(receive - device->descriptor);
    receive->partner = (int)(send - device->descriptor);
    send->state = MATCHED;
    receive->found_rank = send->rank;
    receive->found_tag = send->tag;
    receive->bytes = send->length;
}

static void begin_copy(struct descriptor *send, struct descriptor *receive)
{
    receive->is_truncated = send->length > receive->length;
    receive->total = receive->is_truncated ? receive->length : send->length;
    receive->state = MATCHED;
    if (receive->total == 0) send->state = receive->state = COMPLETE;
}

// The oldest unmatched descriptor of the other kind.
static struct descriptor *oldest(const struct descriptor *d)
{
    struct descriptor *found = NULL;
    for (int i = 0; i < count; i++) {
        struct descriptor *other = &device->descriptor[i];
        if (other->state != UNMATCHED || !other->is_at_home) continue;
        const int is_send = d->kind == MOPED_SEND, other_is_send = other->kind == MOPED_SEND;
        if (is_send == other_is_send || !(is_send ? match(d, other) : match(other, d))) continue;
        if (found == NULL || other->order < found->order) found = other;
    }
    return found;
}

static void go(struct descriptor *d, uint64_t value)
{
    const int kind = (int)(value >> MOPED_KIND_SHIFT & 7);
    if (d->state == FOUND && kind == MOPED_TAKE) {
        begin_copy(&device->descriptor[d->partner], d);
        return;
    }
    if (d->state != RESERVED) return;
    d->kind = kind;
    d->context = (uint32_t)(value & 0xffff);
    d->rank = (uint32_t)(value >> MOPED_RANK_SHIFT & 0xffff);
    d->any_rank = (int)(value >> MOPED_ANY_RANK_SHIFT & 1);
    d->any_tag = (int)(value >> MOPED_ANY_TAG_SHIFT & 1);
    d->order = device->order++;
    d->home = kind == MOPED_SEND ? (int)d->dest : d->owner;
    d->state = UNMATCHED;
    const int is_full = d->home != d->owner && occupied(d->home) >= table;
    if (is_full) back_off();
    if (is_full || (device->is_back_off && !literal)) return;
    d->is_at_home = 1;
    struct descriptor *other = oldest(d);
    if (kind == MOPED_PROBE || kind == MOPED_MATCHED_PROBE) {
        d->state = other == NULL ? NO_MESSAGE : kind == MOPED_PROBE ? COMPLETE : FOUND;
        if (other == NULL) return;
        if (kind == MOPED_MATCHED_PROBE) join(other, d);
        d->found_rank = other->rank;
        d->found_tag = other->tag;
        d->bytes = other->length;
    } else if (other != NULL) {
        struct descriptor *send = kind == MOPED_SEND ? d : other, *receive = kind == MOPED_SEND ? other : d;
        join(send, receive);
        begin_copy(send, receive);
    }
}

void mb_double_store(uint32_t descriptor, unsigned field, uint64_t value)
{
    lock();
    if (field == MOPED_RESUME) {
        device->is_back_off = 0;
    } else if ((int)descriptor < count && device->descriptor[descriptor].owner == own) {
        struct descriptor *d = &device->descriptor[descriptor];
        switch (field) {
            case MOPED_ADDRESS: d->address = (unsigned char *)(uintptr_t)value; break;
            case MOPED_LENGTH: d->length = value; break;
            case MOPED_TAG:
                d->tag = (uint32_t)value;
                d->dest = (uint32_t)(value >> 32);
                break;
            case MOPED_GO: go(d, value); break;
            case MOPED_CANCEL:
                if (d->state == UNMATCHED) d->state = CANCELLED;
                break;
            default: abort();
        }
    }
    unlock();
}

// The next piece between the buffer of this process and the stage of the receive.
static void copy(struct descriptor *d)
{
    const int is_send = d->kind == MOPED_SEND;
    struct descriptor *receive = is_send ? &device->descriptor[d->partner] : d;
    struct descriptor *send = is_send ? d : &device->descriptor[d->partner];
    unsigned char *stage = stages + (size_t)(receive - device->descriptor) * stage_bytes;
    if (receive->state != MATCHED) return;
    if (is_send && receive->staged == 0) {
        const uint64_t rest = receive->total - receive->moved, n = rest < stage_bytes ? rest : stage_bytes;
        memcpy(stage, send->address + receive->moved, n);
        receive->staged = n;
    } else if (!is_send && receive->staged > 0) {
        memcpy(receive->address + receive->moved, stage, receive->staged);
        receive->moved += receive->staged;
        receive->staged = 0;
        if (receive->moved == receive->total) send->state = receive->state = COMPLETE;
    }
}

static uint32_t state_of(struct descriptor *d, int is_peek)
{
    if (d->state == MATCHED) copy(d);
    uint32_t state = MOPED_NONE;
    switch (d->state) {
        case FREE: return MOPED_NONE;
        case RESERVED: return MOPED_RESERVED;
        case UNMATCHED:
            if (!device->is_back_off) return MOPED_PENDING;
            d->state = REVOKED;
            state = MOPED_REVOKED;
            break;
        case MATCHED: return MOPED_MATCHED;
        case FOUND: return MOPED_FOUND;
        case COMPLETE: state = MOPED_COMPLETE | (d->is_truncated ? MOPED_TRUNCATED : 0); break;
        case REVOKED: state = MOPED_REVOKED; break;
        case CANCELLED: state = MOPED_CANCELLED; break;
        case NO_MESSAGE: state = MOPED_NO_MESSAGE; break;
    }
    if (!is_peek) release(d);
    return state;
}

static uint32_t back_off_word(void)
{
    uint32_t word = device->episode << MOPED_EPISODE_SHIFT;
    if (!device->is_back_off) return word;
    int any = 0;
    for (int i = 0; i < count; i++)
        any |= device->descriptor[i].state != FREE;
    return word | MOPED_BACKOFF_BIT | (any ? 0 : MOPED_DRAINED);
}

uint32_t mb_double_poll(uint32_t descriptor, unsigned word)
{
    uint32_t result = MOPED_NONE;
    // A descriptor of the double is at its matching MOPED at once.
    if (word == MOPED_IN_FLIGHT) return 0;
    lock();
    if (word == MOPED_BACKOFF) {
        result = back_off_word();
    } else if ((int)descriptor < count && device->descriptor[descriptor].owner == own) {
        struct descriptor *d = &device->descriptor[descriptor];
        switch (word) {
            case MOPED_STATE: result = state_of(d, 0); break;
            case MOPED_PEEK: result = state_of(d, 1); break;
            case MOPED_SOURCE: result = d->found_rank; break;
            case MOPED_TAGGED: result = d->found_tag; break;
            case MOPED_BYTES: result = (uint32_t)d->bytes; break;
            default: abort();
        }
    }
    unlock();
    return result;
}
