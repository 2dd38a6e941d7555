// SPDX-License-Identifier: Apache-2.0 OR MIT
// A level-compressed trie for longest-prefix matching (Nilsson and Karlsson, "Fast Address Lookup
// for Internet Routers", 1998), for one width of addresses.
//
// Included with KEY (type of an address), KEY_BITS, ROUTE (type of a route), ROUTE_KEY(route), and
// the functions key_bits(key, at, count): the number in `count` bits, at most 31, from bit `at` on;
// key_common(a, b): the number of equal first bits; key_difference(a, b): the bits that differ;
// key_begins(difference, bits): whether the first bits are zero; key_is_padded(key, bits): whether
// the bits after the first ones are zero; key_compare(a, b): negative, zero or positive. The most
// significant bit is the first.
//
// Routes that are a prefix of another route are in `prefixes`, the others, the leaves, in `leaves`;
// each has the longest route that is a prefix of it as parent. A node with branch b has 2^b
// children, chosen by the next b bits after `skip` bits that all leaves below have in common. b is
// the largest number for which at least half of the children lead to leaves. A child without leaves
// leads to the neighbour that has more bits in common with it, so that the parents of that leaf
// include every prefix of the addresses that end there.

#include "spine.h"

#define NO_PARENT 0xffffffffu

struct leaf {
    KEY key;
    uint32_t bits;
    uint32_t next_hop;
    uint32_t parent;
};

struct prefix {
    uint32_t bits;
    uint32_t next_hop;
    uint32_t parent;
};

struct node {
    uint32_t first; // of its children, or the leaf
    uint8_t branch; // 0: a leaf
    uint8_t skip;
    uint16_t unused;
};

// A node under construction: its leaves, and the next child.
struct frame {
    uint32_t first, count, children, next_leaf, next_child;
    uint8_t branch, at; // `at`: the bit at which its children differ
};

static struct leaf *leaves;
static struct prefix *prefixes;
static struct node *nodes;
static uint32_t leaf_count, node_count;

// Divides the routes into leaves and prefixes.
static void sort_out(const ROUTE *routes, uint32_t count)
{
    // The routes that are a prefix of the current one, the longest last.
    uint32_t above[KEY_BITS + 1], levels = 0, prefix_count = 0;
    KEY keys[KEY_BITS + 1];
    for (uint32_t i = 0; i < count; i++) {
        KEY key = ROUTE_KEY(routes[i]);
        uint32_t bits = routes[i].bits;
        if (bits > KEY_BITS || (bits < KEY_BITS && !key_is_padded(key, bits)))
            np_fail(NP_ERROR_ROUTE, (const void *)np_ip_forward_start, i);
        if (i > 0) {
            KEY before = ROUTE_KEY(routes[i - 1]);
            int order = key_compare(before, key);
            if (order > 0 || (order == 0 && routes[i - 1].bits >= bits))
                np_fail(NP_ERROR_ROUTE, (const void *)np_ip_forward_start, i);
        }
        while (levels > 0 && key_common(keys[levels - 1], key) < prefixes[above[levels - 1]].bits)
            levels--;
        uint32_t parent = levels ? above[levels - 1] : NO_PARENT;
        if (i + 1 < count && routes[i + 1].bits > bits && key_common(key, ROUTE_KEY(routes[i + 1])) >= bits) {
            prefixes[prefix_count] = (struct prefix){bits, routes[i].next_hop, parent};
            keys[levels] = key;
            above[levels++] = prefix_count++;
        } else {
            leaves[leaf_count++] = (struct leaf){key, bits, routes[i].next_hop, parent};
        }
    }
}

// Chooses skip and branch of a node for the leaves from `first` on; `at`: bits already decided.
static void shape(uint32_t first, uint32_t count, uint32_t at, uint32_t *skip, uint32_t *branch)
{
    // How many neighbours have how many bits in common. The number of different first b bits is one
    // more than the number of neighbours that differ in them.
    uint32_t common[KEY_BITS + 1] = {0}, least = KEY_BITS;
    for (uint32_t i = first; i + 1 < first + count; i++) {
        uint32_t bits = key_common(leaves[i].key, leaves[i + 1].key);
        common[bits]++;
        if (bits < least)
            least = bits;
    }
    *skip = least - at;
    *branch = 1;
    uint32_t different = 1 + common[least];
    for (uint32_t b = 2; b <= 24 && least + b <= KEY_BITS; b++) {
        different += common[least + b - 1];
        if (different < 1u << (b - 1))
            break;
        *branch = b;
    }
}

static uint32_t take_nodes(uint32_t count)
{
    // The node array grows at the end of the heap in use: nothing else is allocated meanwhile.
    uint32_t first = node_count;
    size_t used = ((size_t)node_count * sizeof *nodes + NP_LINE - 1) / NP_LINE;
    node_count += count;
    size_t needed = ((size_t)node_count * sizeof *nodes + NP_LINE - 1) / NP_LINE;
    np_take_heap((needed - used) * NP_LINE);
    return first;
}

static struct frame start_node(uint32_t node, uint32_t first, uint32_t count, uint32_t at)
{
    uint32_t skip, branch;
    shape(first, count, at, &skip, &branch);
    uint32_t children = take_nodes(1u << branch);
    nodes[node] = (struct node){children, (uint8_t)branch, (uint8_t)skip, 0};
    return (struct frame){first, count, children, first, 0, (uint8_t)branch, (uint8_t)(at + skip)};
}

// The leaf for a child without leaves. `next` is the first leaf after the child's values.
static uint32_t neighbour(const struct frame *frame, uint32_t child, uint32_t next)
{
    uint32_t end = frame->first + frame->count;
    if (next == frame->first)
        return next;
    if (next == end)
        return next - 1;
    uint32_t before = key_bits(leaves[next - 1].key, frame->at, frame->branch);
    uint32_t after = key_bits(leaves[next].key, frame->at, frame->branch);
    // The highest bit that differs is lower on the side with more bits in common.
    uint32_t low = before ^ child, high = after ^ child;
    return high < low && high < (low ^ high) ? next : next - 1;
}

static void build(const ROUTE *routes, uint32_t count)
{
    static struct frame frames[KEY_BITS + 1];
    uint32_t depth = 0;
    if (count == 0)
        return;
    leaves = np_take_heap(count * sizeof *leaves);
    prefixes = np_take_heap(count * sizeof *prefixes);
    nodes = np_take_heap(0);
    sort_out(routes, count);
    take_nodes(1);
    if (leaf_count == 1) {
        nodes[0] = (struct node){0, 0, 0, 0};
        return;
    }
    frames[depth++] = start_node(0, 0, leaf_count, 0);
    while (depth) {
        struct frame *frame = &frames[depth - 1];
        if (frame->next_child == 1u << frame->branch) {
            depth--;
            continue;
        }
        uint32_t child = frame->next_child++, node = frame->children + child;
        uint32_t begin = frame->next_leaf, end = begin;
        while (end < frame->first + frame->count && key_bits(leaves[end].key, frame->at, frame->branch) == child)
            end++;
        frame->next_leaf = end;
        if (end - begin > 1)
            frames[depth++] = start_node(node, begin, end - begin, frame->at + frame->branch);
        else
            nodes[node] = (struct node){end > begin ? begin : neighbour(frame, child, begin), 0, 0, 0};
    }
}

// The next hop of the longest prefix of an address, or NO_NEXT_HOP.
static inline uint32_t look_up(KEY key)
{
    if (UNLIKELY(node_count == 0))
        return NO_NEXT_HOP;
    struct node node = nodes[0];
    uint32_t at = node.skip;
    while (node.branch) {
        uint32_t branch = node.branch;
        node = nodes[node.first + key_bits(key, at, branch)];
        at += branch + node.skip;
    }
    const struct leaf *leaf = &leaves[node.first];
    KEY difference = key_difference(leaf->key, key);
    if (key_begins(difference, leaf->bits))
        return leaf->next_hop;
    for (uint32_t parent = leaf->parent; parent != NO_PARENT; parent = prefixes[parent].parent)
        if (key_begins(difference, prefixes[parent].bits))
            return prefixes[parent].next_hop;
    return NO_NEXT_HOP;
}
