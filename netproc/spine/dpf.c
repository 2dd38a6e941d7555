// SPDX-License-Identifier: Apache-2.0 OR MIT
// A dynamic packet filter after Engler and Kaashoek (DPF, SIGCOMM 1996): filters are data; they are
// merged into one decision tree, and the tree is compiled to machine code.
//
// A node of the tree tests one field of the packet. The conditions of the filters divide the values
// of the field into intervals; in each interval the same filters can still match, and a binary
// search leads to the node of that set. A path ends where the first filter that can match has no
// other condition. So a packet passes each field at most once, and the cost grows with the
// logarithm of the number of filters. Nodes for equal sets and equal fields are shared.
//
// Generated code: a0 network header, a1 bytes of the IP packet; a3 transport header, a4 protocol of
// an IPv6 packet; t0 field, t1 and t2 temporary. The result is in a0.

#include "dpf_tree.h"
#include "emit.h"

// A search among more intervals may be longer than a branch reaches.
enum { LONG_SEARCH = 48 };

// A node whose code has been written.
struct memo {
    struct state state;
    uint32_t *code;
    struct memo *next;
};

static struct memo *memos[256];

// Leaves the node: returns the result, or jumps to the next node.
static void emit_exit(struct successor *exit)
{
    uint32_t result;
    if (reduce(&exit->state, &result)) {
        emit_constant(R_A0, (int32_t)result);
        emit_return();
        return;
    }
    uint32_t *jump = emit_jump();
    // Until the target is known the upper 25 bits hold the distance to the previous jump.
    *jump |= (exit->jumps ? (uint32_t)(jump - exit->jumps) : 0) << 7;
    exit->jumps = jump;
}

// Finds the interval of t0 among those from i to j.
static void emit_search(struct division *division, uint32_t i, uint32_t j)
{
    const uint64_t *first = division->first;
    const uint16_t *exit_of = division->exit_of;
    if (i == j) {
        emit_exit(&division->exits[exit_of[i]]);
        return;
    }
    if (j == i + 2 && exit_of[i] == exit_of[j] && first[j] == first[i + 1] + 1) {
        emit_constant(R_T1, (int64_t)first[i + 1]);
        uint32_t *equal = emit_branch(BRANCH_EQUAL, R_T0, R_T1);
        emit_exit(&division->exits[exit_of[i]]);
        patch_branch(equal, emit_at);
        emit_exit(&division->exits[exit_of[i + 1]]);
        return;
    }
    uint32_t middle = (i + j + 1) / 2;
    emit_constant(R_T1, (int64_t)first[middle]);
    uint32_t *less, *jump = NULL;
    if (j - i < LONG_SEARCH) {
        less = emit_branch(BRANCH_LESS, R_T0, R_T1);
    } else {
        uint32_t *over = emit_branch(BRANCH_NOT_LESS, R_T0, R_T1);
        jump = less = emit_jump();
        patch_branch(over, emit_at);
    }
    emit_search(division, middle, j);
    if (jump)
        patch_jump(less, emit_at);
    else
        patch_branch(less, emit_at);
    emit_search(division, i, middle - 1);
}

// Loads a big-endian number of 2, 4 or 8 bytes into t0; `raw`: as a little-endian load shows it.
static void emit_load_number(uint32_t base, int32_t offset, uint32_t bytes, int raw)
{
    if (raw || HAS_REVERSE) {
        if (bytes == 8) {
            // Headers are aligned to 4 bytes.
            emit_load(LW_UNSIGNED, R_T1, base, offset + 4);
            emit_load(LW_UNSIGNED, R_T0, base, offset);
            emit_shift_left(R_T1, R_T1, 32);
            emit_or(R_T0, R_T0, R_T1);
        } else {
            emit_load(bytes == 2 ? LH_UNSIGNED : LW_UNSIGNED, R_T0, base, offset);
        }
        if (!raw) {
            emit_reverse(R_T0, R_T0);
            if (bytes < 8)
                emit_shift_right(R_T0, R_T0, 64 - 8 * (int32_t)bytes);
        }
    } else {
        emit_load(LB_UNSIGNED, R_T0, base, offset);
        for (uint32_t i = 1; i < bytes; i++) {
            emit_load(LB_UNSIGNED, R_T1, base, offset + (int32_t)i);
            emit_shift_left(R_T0, R_T0, 8);
            emit_or(R_T0, R_T0, R_T1);
        }
    }
}

static void emit_load_field(enum field field, int version, int raw)
{
    uint32_t bytes = bytes_of(field, version);
    switch (field) {
    case PROTOCOL:
        if (version == 4)
            emit_load(LB_UNSIGNED, R_T0, R_A0, 9);
        else
            emit_add_immediate(R_T0, R_A4, 0);
        break;
    case DESTINATION_PORT:
        emit_load_number(R_A3, 2, bytes, raw);
        break;
    case SOURCE_PORT:
        emit_load_number(R_A3, 0, bytes, raw);
        break;
    case DESTINATION:
        emit_load_number(R_A0, version == 4 ? 16 : 24, bytes, raw);
        break;
    case SOURCE:
        emit_load_number(R_A0, version == 4 ? 12 : 8, bytes, raw);
        break;
    case DESTINATION_LOW:
        emit_load_number(R_A0, 32, bytes, raw);
        break;
    default:
        emit_load_number(R_A0, 16, bytes, raw);
    }
}

// Tests whether the packet has ports, and lets a3 point to them.
static void emit_ports(const struct state *state, struct division *division)
{
    uint32_t *absent[5], count = 0;
    struct successor *without = &division->exits[division->exit_of[0]];
    if (state->known == WITHOUT_PORTS) {
        emit_exit(without);
        return;
    }
    if (state->version == 4) {
        emit_load(LH_UNSIGNED, R_T0, R_A0, 6);
        emit_constant(R_T1, 0xff1f); // the fragment offset, as a little-endian load shows it
        emit_and(R_T0, R_T0, R_T1);
        absent[count++] = emit_branch(BRANCH_NOT_EQUAL, R_T0, R_ZERO);
    } else {
        absent[count++] = emit_branch(BRANCH_EQUAL, R_A3, R_ZERO);
    }
    if (state->known == UNKNOWN) {
        emit_load_field(PROTOCOL, state->version, 0);
        emit_constant(R_T1, NP_TCP);
        uint32_t *is_tcp = emit_branch(BRANCH_EQUAL, R_T0, R_T1);
        emit_constant(R_T1, NP_UDP);
        absent[count++] = emit_branch(BRANCH_NOT_EQUAL, R_T0, R_T1);
        patch_branch(is_tcp, emit_at);
    }
    if (state->version == 4) {
        emit_load(LB_UNSIGNED, R_T0, R_A0, 0);
        emit_and_immediate(R_T0, R_T0, 15);
        emit_shift_left(R_T0, R_T0, 2);
        emit_add(R_A3, R_A0, R_T0);
    } else {
        emit_sub(R_T0, R_A3, R_A0);
    }
    emit_add_immediate(R_T0, R_T0, NP_PORT_BYTES);
    absent[count++] = emit_branch(BRANCH_LESS, R_A1, R_T0);
    emit_exit(&division->exits[division->exit_of[division->intervals - 1]]);
    for (uint32_t i = 0; i < count; i++)
        patch_branch(absent[i], emit_at);
    emit_exit(without);
}

static struct memo **find(const struct state *state)
{
    uint64_t hash = state->tested ^ (uint64_t)state->version << 8 ^ (uint64_t)state->known << 16;
    for (int i = 0; i < SET_WORDS; i++)
        hash = (hash ^ state->live.words[i]) * 0x9e3779b97f4a7c15ul;
    struct memo **at = &memos[hash >> 56];
    while (*at && !is_equal(&(*at)->state, state))
        at = &(*at)->next;
    return at;
}

static uint32_t *emit_node(const struct state *state);

// Writes the nodes to which a division leads, and sets the targets of its jumps.
static void emit_exits(struct division *division)
{
    // The node of the last jump follows directly and needs no jump.
    for (uint32_t i = 0; i < division->exits_count; i++) {
        struct successor *exit = &division->exits[i];
        if (!exit->jumps || exit->jumps != emit_at - 1 || *find(&exit->state))
            continue;
        uint32_t by = *exit->jumps >> 7;
        uint32_t *jump = exit->jumps, *previous = by ? jump - by : NULL;
        emit_at--;
        exit->jumps = previous;
        emit_node(&exit->state);
        break;
    }
    for (uint32_t i = 0; i < division->exits_count; i++) {
        struct successor *exit = &division->exits[i];
        if (!exit->jumps)
            continue;
        struct memo *memo = *find(&exit->state);
        uint32_t *target = memo ? memo->code : emit_node(&exit->state);
        for (uint32_t *jump = exit->jumps; jump;) {
            uint32_t by = *jump >> 7;
            *jump &= 0x7f;
            patch_jump(jump, target);
            jump = by ? jump - by : NULL;
        }
    }
}

// Writes the code of a state that is not decided; returns its address.
static uint32_t *emit_node(const struct state *state)
{
    uint32_t *code = emit_at;
    struct memo *memo = np_take_heap(sizeof *memo), **place = find(state);
    *memo = (struct memo){*state, code, NULL};
    *place = memo;
    uint8_t *mark = scratch;
    struct division division;
    enum field field = choose(state);
    uint64_t first, last;
    int raw = 1;
    for (uint32_t i = 0; i < filter_count; i++)
        if (has(&state->live, i) && condition(&filters[i], field, state->version, &first, &last) && first != last)
            raw = 0;
    divide(state, field, raw, &division);
    if (field == PORTS) {
        emit_ports(state, &division);
    } else {
        if (division.intervals > 1)
            emit_load_field(field, state->version, raw);
        emit_search(&division, 0, division.intervals - 1);
    }
    emit_exits(&division);
    scratch = mark;
    return code;
}

// Writes the code for one IP version.
static void emit_version(int version)
{
    struct state state = {{{0}}, 0, (uint8_t)version, UNKNOWN};
    uint32_t result;
    uint64_t first, last;
    int upper = 0;
    for (uint32_t i = 0; i < filter_count; i++) {
        const struct np_filter *f = &filters[i];
        if (f->version && f->version != version)
            continue;
        put(&state.live, i);
        upper |= condition(f, PROTOCOL, version, &first, &last) || condition(f, PORTS, version, &first, &last);
    }
    if (reduce(&state, &result)) {
        emit_constant(R_A0, (int32_t)result);
        emit_return();
        return;
    }
    if (version == 6 && upper) {
        // np_ipv6_upper(a0, a1): protocol to a4, transport header to a3.
        emit_add_immediate(R_SP, R_SP, -32);
        emit_store_double(R_RA, R_SP, 0);
        emit_store_double(R_A0, R_SP, 8);
        emit_store_double(R_A1, R_SP, 16);
        emit_constant(R_T1, (int64_t)np_ipv6_upper);
        emit_call(R_T1);
        emit_add_immediate(R_A4, R_A0, 0);
        emit_add_immediate(R_A3, R_A1, 0);
        emit_load(LD, R_RA, R_SP, 0);
        emit_load(LD, R_A0, R_SP, 8);
        emit_load(LD, R_A1, R_SP, 16);
        emit_add_immediate(R_SP, R_SP, 32);
    }
    emit_node(&state);
}

np_filter_code *np_dpf_compile(void)
{
    filters = (const struct np_filter *)np_config.filters;
    filter_count = np_config.filter_count;
    // Each of the nested nodes has at most this much.
    size_t node = (2 * filter_count + 1) * (sizeof(uint64_t) + sizeof(uint16_t) + sizeof(struct successor)) + 24;
    scratch = np_take_heap((FIELDS + 1) * node);
    emit_at = np_code;
    emit_end = np_code + NP_CODE_BYTES / 4;
    emit_load(LB_UNSIGNED, R_T0, R_A0, 0);
    emit_constant(R_T1, 0x60);
    uint32_t *is_4 = emit_branch(BRANCH_LESS, R_T0, R_T1);
    uint32_t *to_6 = emit_jump();
    patch_branch(is_4, emit_at);
    emit_version(4);
    patch_jump(to_6, emit_at);
    emit_version(6);
    __asm__ volatile("fence.i" : : : "memory");
    return (np_filter_code *)np_code;
}
