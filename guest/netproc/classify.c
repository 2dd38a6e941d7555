// SPDX-License-Identifier: Apache-2.0 OR MIT
// Software classifiers: the code that dpf.c has compiled, and an interpreter that compares the
// packet with one filter after the other.

#include "spine.h"

// A filter as the interpreter uses it: numbers in host order, prefixes as value and mask.
struct rule {
    uint64_t source[2], source_mask[2];
    uint64_t destination[2], destination_mask[2];
    uint16_t source_port[2], destination_port[2];
    uint8_t version, any_protocol, protocol, any_port;
};

static struct rule *rules;
static np_filter_code *code;

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)np_get32(at) << 32 | np_get32(at + 4);
}

// The address and its mask; an IPv4 address is in the upper half of the first word.
static void set_prefix(uint64_t value[2], uint64_t mask[2], const uint8_t *prefix, uint32_t bits)
{
    mask[0] = bits == 0 ? 0 : bits >= 64 ? ~0ul : ~0ul << (64 - bits);
    mask[1] = bits <= 64 ? 0 : bits == 128 ? ~0ul : ~0ul << (128 - bits);
    value[0] = get64(prefix);
    value[1] = get64(prefix + 8);
}

static int is_valid(const struct np_filter *f)
{
    uint32_t most = f->version == 4 ? 32 : f->version == 6 ? 128 : 0;
    uint64_t source[2], source_mask[2], destination[2], destination_mask[2];
    if (f->version != 0 && f->version != 4 && f->version != 6)
        return 0;
    if (f->source_bits > most || f->destination_bits > most || f->application >= NP_APPS)
        return 0;
    set_prefix(source, source_mask, f->source, f->source_bits);
    set_prefix(destination, destination_mask, f->destination, f->destination_bits);
    for (int i = 0; i < 2; i++)
        if ((source[i] & ~source_mask[i]) || (destination[i] & ~destination_mask[i]))
            return 0;
    return f->source_port[0] <= f->source_port[1] && f->destination_port[0] <= f->destination_port[1];
}

void np_classify_start(void)
{
    const struct np_filter *filters = (const struct np_filter *)np_config.filters;
    uint32_t count = np_config.filter_count;
    for (uint32_t i = 0; i < count; i++)
        if (!is_valid(&filters[i]))
            np_fail(NP_ERROR_FILTER, (const void *)np_classify_start, i);
    if (np_config.classifier == NP_CLASSIFIER_DPF)
        code = np_dpf_compile();
    if (np_config.classifier != NP_CLASSIFIER_TABLE)
        return;
    rules = np_take_heap(count * sizeof *rules);
    for (uint32_t i = 0; i < count; i++) {
        const struct np_filter *f = &filters[i];
        struct rule *r = &rules[i];
        set_prefix(r->source, r->source_mask, f->source, f->source_bits);
        set_prefix(r->destination, r->destination_mask, f->destination, f->destination_bits);
        for (int j = 0; j < 2; j++) {
            r->source_port[j] = f->source_port[j];
            r->destination_port[j] = f->destination_port[j];
        }
        r->version = f->version;
        r->any_protocol = f->any_protocol;
        r->protocol = f->protocol;
        r->any_port = r->source_port[0] == 0 && r->source_port[1] == 0xffff &&
                      r->destination_port[0] == 0 && r->destination_port[1] == 0xffff;
    }
}

static uint32_t interpret(struct np_packet *packet)
{
    size_t left;
    const uint8_t *network = np_network(packet), *transport = np_transport(packet, &left);
    uint8_t version = network[0] >> 4, protocol = packet->protocol;
    int ports = transport && (protocol == 6 || protocol == 17) && left >= NP_PORT_BYTES;
    uint32_t source_port = 0, destination_port = 0;
    uint64_t source[2] = {0, 0}, destination[2] = {0, 0};
    if (ports) {
        source_port = np_get16(transport);
        destination_port = np_get16(transport + 2);
    }
    if (version == 4) {
        source[0] = (uint64_t)np_get32(network + 12) << 32;
        destination[0] = (uint64_t)np_get32(network + 16) << 32;
    } else {
        for (int i = 0; i < 2; i++) {
            source[i] = get64(network + 8 + 8 * i);
            destination[i] = get64(network + 24 + 8 * i);
        }
    }
    uint32_t count = np_config.filter_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct rule *r = &rules[i];
        if (r->version && r->version != version)
            continue;
        if (!r->any_protocol && r->protocol != protocol)
            continue;
        if (!r->any_port) {
            if (!ports || source_port < r->source_port[0] || source_port > r->source_port[1] ||
                destination_port < r->destination_port[0] || destination_port > r->destination_port[1])
                continue;
        }
        if (((source[0] ^ r->source[0]) & r->source_mask[0]) || ((source[1] ^ r->source[1]) & r->source_mask[1]))
            continue;
        if (((destination[0] ^ r->destination[0]) & r->destination_mask[0]) ||
            ((destination[1] ^ r->destination[1]) & r->destination_mask[1]))
            continue;
        return i;
    }
    return NP_NO_CLASS;
}

uint32_t np_classify(struct np_packet *packet)
{
    if (np_config.classifier == NP_CLASSIFIER_DPF)
        return code(np_network(packet), packet->network_length);
    return interpret(packet);
}
