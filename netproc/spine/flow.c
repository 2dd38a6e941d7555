// SPDX-License-Identifier: Apache-2.0 OR MIT
// The flow table: a hash table with a lock for each bucket. Flows are never removed.

#include "spine.h"

// What names a flow: the smaller endpoint first, so that both directions have the same key.
struct key {
    uint64_t low[2], high[2]; // addresses; IPv4 in the first word
    uint32_t ports;           // port of the smaller endpoint, port of the larger one
    uint32_t kind;            // IP version and protocol
};

struct flow {
    struct flow *next;
    struct key key;
    uint8_t state[NP_FLOW_BYTES] __attribute__((aligned(NP_LINE)));
};

struct bucket {
    uint32_t lock;
    struct flow *first;
};

static struct bucket *buckets;
static struct flow *flows;
// Flows in use, and possibly more: harts count up before they look.
static uint64_t used __attribute__((aligned(NP_LINE)));
// The bucket that each hart holds.
static struct {
    struct bucket *bucket;
} __attribute__((aligned(NP_LINE))) held[NP_HARTS];

void np_flow_start(void)
{
    buckets = np_take_heap(np_config.flow_buckets * sizeof *buckets);
    flows = np_take_heap(np_config.flows * sizeof *flows);
}

static uint64_t load64(const uint8_t *at)
{
    // Headers are aligned to 4 bytes.
    const uint32_t *words = (const uint32_t *)(const void *)at;
    return words[0] | (uint64_t)words[1] << 32;
}

// Writes the key of the packet; returns 1 if the destination is the smaller endpoint. The order of
// endpoints is that of little-endian loads: any order will do.
static int make_key(struct np_packet *packet, struct key *key)
{
    size_t length;
    const uint8_t *network = np_network(packet), *transport = np_transport(packet, &length);
    uint64_t source[2] = {0, 0}, destination[2] = {0, 0};
    uint32_t source_port = 0, destination_port = 0;
    if (transport && (packet->protocol == NP_TCP || packet->protocol == NP_UDP) && length >= NP_PORT_BYTES) {
        source_port = np_get16(transport);
        destination_port = np_get16(transport + 2);
    }
    if (packet->ethertype == NP_IPV4) {
        source[0] = *(const uint32_t *)(const void *)(network + 12);
        destination[0] = *(const uint32_t *)(const void *)(network + 16);
    } else {
        for (int i = 0; i < 2; i++) {
            source[i] = load64(network + 8 + 8 * i);
            destination[i] = load64(network + 24 + 8 * i);
        }
    }
    int reversed;
    if (source[0] != destination[0])
        reversed = destination[0] < source[0];
    else if (source[1] != destination[1])
        reversed = destination[1] < source[1];
    else
        reversed = destination_port < source_port;
    for (int i = 0; i < 2; i++) {
        key->low[i] = reversed ? destination[i] : source[i];
        key->high[i] = reversed ? source[i] : destination[i];
    }
    key->ports = reversed ? destination_port << 16 | source_port : source_port << 16 | destination_port;
    key->kind = (uint32_t)packet->ethertype << 8 | packet->protocol;
    return reversed;
}

static int is_equal(const struct key *a, const struct key *b)
{
    return a->low[0] == b->low[0] && a->high[0] == b->high[0] && a->ports == b->ports && a->kind == b->kind &&
           a->low[1] == b->low[1] && a->high[1] == b->high[1];
}

// Multiplicative hashing: the upper bits depend on all bits of the key.
static uint32_t hash(const struct key *key)
{
    uint64_t h = (key->low[0] ^ key->high[0] << 32 ^ key->high[0] >> 32 ^ key->low[1]) * 0x9e3779b97f4a7c15ul;
    h = (h ^ h >> 32 ^ key->high[1] ^ ((uint64_t)key->kind << 32 | key->ports)) * 0x9e3779b97f4a7c15ul;
    return (uint32_t)(h >> 40);
}

void *np_flow(struct np_packet *packet, int *reversed)
{
    struct key key;
    uint32_t self = np_self->hart;
    if (held[self].bucket)
        np_fail(NP_ERROR_FLOW, __builtin_return_address(0), packet->number);
    int order = make_key(packet, &key);
    if (reversed)
        *reversed = order;
    struct bucket *bucket = &buckets[hash(&key) & (np_config.flow_buckets - 1)];
    lock_acquire(&bucket->lock);
    struct flow *flow = bucket->first;
    while (flow && !is_equal(&flow->key, &key))
        flow = flow->next;
    if (!flow) {
        uint64_t number;
        __asm__ volatile("amoadd.d %0, %2, %1" : "=r"(number), "+A"(used) : "r"(1ul) : "memory");
        if (number >= np_config.flows) {
            __asm__ volatile("amoadd.d zero, %1, %0" : "+A"(used) : "r"(-1l) : "memory");
            lock_release(&bucket->lock);
            return NULL;
        }
        flow = &flows[number];
        flow->key = key;
        flow->next = bucket->first;
        bucket->first = flow;
    }
    held[self].bucket = bucket;
    np_self->locks++;
    return flow->state;
}

void np_flow_release(void)
{
    struct bucket *bucket = held[np_self->hart].bucket;
    if (!bucket)
        np_fail(NP_ERROR_UNLOCK, __builtin_return_address(0), 0);
    held[np_self->hart].bucket = NULL;
    np_self->locks--;
    lock_release(&bucket->lock);
}
