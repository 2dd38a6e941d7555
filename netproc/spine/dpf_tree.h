// SPDX-License-Identifier: Apache-2.0 OR MIT
// The decision tree of dpf.c: fields, conditions of filters on them, and how the values of a field
// divide the filters. Included by dpf.c only.

#ifndef MB_NETPROC_DPF_TREE_H
#define MB_NETPROC_DPF_TREE_H

#include "spine.h"

enum field {
    PROTOCOL,
    PORTS, // whether the packet has ports: 0 or 1
    DESTINATION_PORT,
    SOURCE_PORT,
    DESTINATION, // IPv4 address, or upper half of the IPv6 address
    SOURCE,
    DESTINATION_LOW, // lower half of the IPv6 address
    SOURCE_LOW,
    FIELDS,
};

// What is known of the protocol.
enum known { UNKNOWN, WITH_PORTS, WITHOUT_PORTS };

enum { SET_WORDS = NP_FILTERS / 64 };

struct set {
    uint64_t words[SET_WORDS];
};

// A state of the decision: the filters that can still match, and what was tested.
struct state {
    struct set live;
    uint8_t tested; // bit of each field
    uint8_t version;
    uint8_t known;
};

// Where a node leads to.
struct successor {
    struct state state;
    uint32_t *jumps; // jumps to it, linked through the words until they are patched
};

// The intervals of a field at a node; `first` has their first values.
struct division {
    uint64_t *first;
    uint16_t *exit_of;
    struct successor *exits;
    uint32_t intervals, exits_count;
};

static const struct np_filter *filters;
static uint32_t filter_count;
static uint8_t *scratch;

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)np_get32(at) << 32 | np_get32(at + 4);
}

static int is_whole(const uint16_t range[2])
{
    return range[0] == 0 && range[1] == 0xffff;
}

static int is_prefix(const uint8_t *prefix, uint32_t bits, int version, int low, uint64_t *first, uint64_t *last)
{
    uint64_t span;
    if (low) {
        if (bits <= 64)
            return 0;
        *first = get64(prefix + 8);
        span = bits == 128 ? 0 : ~0ul >> (bits - 64);
    } else if (bits == 0) {
        return 0;
    } else if (version == 4) {
        *first = np_get32(prefix);
        span = (1ul << (32 - bits)) - 1;
    } else {
        *first = get64(prefix);
        span = bits >= 64 ? 0 : ~0ul >> bits;
    }
    *last = *first | span;
    return 1;
}

// Whether the filter has a condition on the field, and which values it allows.
static int condition(const struct np_filter *f, enum field field, int version, uint64_t *first, uint64_t *last)
{
    switch (field) {
    case PROTOCOL:
        *first = *last = f->protocol;
        return !f->any_protocol;
    case PORTS:
        *first = *last = 1;
        return !is_whole(f->source_port) || !is_whole(f->destination_port);
    case DESTINATION_PORT:
        *first = f->destination_port[0], *last = f->destination_port[1];
        return !is_whole(f->destination_port);
    case SOURCE_PORT:
        *first = f->source_port[0], *last = f->source_port[1];
        return !is_whole(f->source_port);
    case DESTINATION:
    case DESTINATION_LOW:
        return is_prefix(f->destination, f->destination_bits, version, field == DESTINATION_LOW, first, last);
    default:
        return is_prefix(f->source, f->source_bits, version, field == SOURCE_LOW, first, last);
    }
}

static int has(const struct set *set, uint32_t i)
{
    return set->words[i / 64] >> (i % 64) & 1;
}

static void put(struct set *set, uint32_t i)
{
    set->words[i / 64] |= 1ul << (i % 64);
}

static int is_equal(const struct state *a, const struct state *b)
{
    for (int i = 0; i < SET_WORDS; i++)
        if (a->live.words[i] != b->live.words[i])
            return 0;
    return a->tested == b->tested && a->version == b->version && a->known == b->known;
}

// Whether the filter has a condition that was not tested.
static int is_open(const struct state *state, uint32_t i)
{
    uint64_t first, last;
    for (int field = 0; field < FIELDS; field++)
        if (!(state->tested >> field & 1) && condition(&filters[i], field, state->version, &first, &last))
            return 1;
    return 0;
}

// Removes the filters behind one that matches in any case. Returns 1 if the decision is made, and
// sets *result.
static int reduce(struct state *state, uint32_t *result)
{
    struct set live = {{0}};
    *result = NP_NO_CLASS;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < filter_count; i++) {
        if (!has(&state->live, i))
            continue;
        put(&live, i);
        if (!is_open(state, i)) {
            if (kept == 0)
                *result = i;
            break;
        }
        kept++;
    }
    state->live = live;
    return kept == 0;
}

// The field to test next: the one on which the fewest live filters have no condition.
static enum field choose(const struct state *state)
{
    enum field best = FIELDS;
    uint32_t fewest = ~0u;
    for (int field = 0; field < FIELDS; field++) {
        uint32_t open = 0, conditions = 0;
        uint64_t first, last;
        if (state->tested >> field & 1)
            continue;
        for (uint32_t i = 0; i < filter_count; i++) {
            if (!has(&state->live, i))
                continue;
            if (condition(&filters[i], field, state->version, &first, &last))
                conditions++;
            else
                open++;
        }
        if (conditions && open < fewest)
            fewest = open, best = field;
    }
    if ((best == DESTINATION_PORT || best == SOURCE_PORT) && !(state->tested >> PORTS & 1))
        best = PORTS;
    return best;
}

static void *take_scratch(size_t bytes)
{
    void *at = scratch;
    scratch += (bytes + 7) & ~7ul;
    return at;
}

static uint32_t bytes_of(enum field field, int version)
{
    switch (field) {
    case PROTOCOL:
    case PORTS:
        return 1;
    case DESTINATION_PORT:
    case SOURCE_PORT:
        return 2;
    default:
        return version == 4 ? 4 : 8;
    }
}

// The value as a little-endian load of the field shows it.
static uint64_t swap(uint64_t value, uint32_t bytes)
{
    uint64_t swapped = 0;
    for (uint32_t i = 0; i < bytes; i++)
        swapped = swapped << 8 | (value >> (8 * i) & 0xff);
    return swapped;
}

// Inserts a boundary into the ordered array, unless it is there.
static void add_boundary(struct division *division, uint64_t value)
{
    uint32_t at = division->intervals;
    while (at > 0 && division->first[at - 1] > value)
        at--;
    if (at > 0 && division->first[at - 1] == value)
        return;
    for (uint32_t i = division->intervals++; i > at; i--)
        division->first[i] = division->first[i - 1];
    division->first[at] = value;
}

static uint64_t last_of(const struct division *division, uint32_t i, uint64_t top)
{
    return i + 1 < division->intervals ? division->first[i + 1] - 1 : top;
}

static enum known known_of(uint64_t first, uint64_t last)
{
    if (first == last)
        return first == NP_TCP || first == NP_UDP ? WITH_PORTS : WITHOUT_PORTS;
    return (first <= NP_TCP && NP_TCP <= last) || (first <= NP_UDP && NP_UDP <= last) ? UNKNOWN : WITHOUT_PORTS;
}

// Divides the values of a field. `raw`: as a little-endian load shows them; only single values.
static void divide(const struct state *state, enum field field, int raw, struct division *division)
{
    uint32_t bytes = bytes_of(field, state->version);
    uint64_t top = field == PORTS ? 1 : bytes == 8 ? ~0ul : (1ul << (8 * bytes)) - 1, first, last;
    size_t most = 2 * filter_count + 1;
    *division = (struct division){
        take_scratch(most * sizeof *division->first),
        take_scratch(most * sizeof *division->exit_of),
        take_scratch(most * sizeof *division->exits),
        0,
        0,
    };
    add_boundary(division, 0);
    for (uint32_t i = 0; i < filter_count; i++) {
        if (!has(&state->live, i) || !condition(&filters[i], field, state->version, &first, &last))
            continue;
        if (raw)
            first = last = swap(first, bytes);
        add_boundary(division, first);
        if (last != top)
            add_boundary(division, last + 1);
    }
    // Intervals with the same exit as the one before are joined to it.
    uint32_t kept = 0;
    for (uint32_t i = 0; i < division->intervals; i++) {
        uint64_t begin = division->first[i], end = last_of(division, i, top);
        struct state next = {{{0}}, (uint8_t)(state->tested | 1u << field), state->version, state->known};
        uint32_t result, exit;
        for (uint32_t j = 0; j < filter_count; j++) {
            if (!has(&state->live, j))
                continue;
            int conditional = condition(&filters[j], field, state->version, &first, &last);
            if (conditional && raw)
                first = last = swap(first, bytes);
            if (!conditional || (first <= begin && end <= last))
                put(&next.live, j);
        }
        if (field == PROTOCOL)
            next.known = known_of(begin, end);
        // All decisions for a result are one exit.
        if (reduce(&next, &result)) {
            next.tested = 0xff;
            next.known = UNKNOWN;
        }
        for (exit = 0; exit < division->exits_count; exit++)
            if (is_equal(&division->exits[exit].state, &next))
                break;
        if (exit == division->exits_count)
            division->exits[division->exits_count++] = (struct successor){next, NULL};
        if (kept && division->exit_of[kept - 1] == exit)
            continue;
        division->first[kept] = begin;
        division->exit_of[kept++] = (uint16_t)exit;
    }
    division->intervals = kept;
}

#endif
