// SPDX-License-Identifier: Apache-2.0 OR MIT
// Software classifiers: the code that dpf.c has compiled, and an interpreter that compares the
// packet with one filter after the other.

#include "spine.h"

// A filter as the interpreter uses it: prefixes as value and mask.
struct rule {
    uint64_t source[2], source_mask[2];
    uint64_t destination[2], destination_mask[2];
    uint16_t source_port[2], destination_port[2];
    uint8_t version, any_protocol, protocol, any_port;
};

static struct rule *rules;
static np_filter_code *code;

// Addresses are compared as loads show them, so that no load is reversed. Headers and filters are
// aligned to 4 bytes.
static uint64_t load64(const uint8_t *at)
{
    const uint32_t *words = (const uint32_t *)(const void *)at;
    return words[0] | (uint64_t)words[1] << 32;
}

static void set_prefix(uint64_t value[2], uint64_t mask[2], const uint8_t *prefix, uint32_t bits)
{
    uint8_t bytes[16] __attribute__((aligned(8)));
    for (uint32_t i = 0; i < 16; i++)
        bytes[i] = bits >= 8 * i + 8 ? 0xff : bits <= 8 * i ? 0 : (uint8_t)(0xff00 >> (bits - 8 * i));
    for (int i = 0; i < 2; i++) {
        value[i] = load64(prefix + 8 * i);
        mask[i] = load64(bytes + 8 * i);
    }
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

// Not inlined: np_classify need not save registers for the call of generated code.
__attribute__((noinline)) static uint32_t interpret(struct np_packet *packet)
{
    size_t left;
    const uint8_t *network = np_network(packet), *transport = np_transport(packet, &left);
    uint8_t version = network[0] >> 4, protocol = packet->protocol;
    int ports = transport && (protocol == NP_TCP || protocol == NP_UDP) && left >= NP_PORT_BYTES;
    uint32_t source_port = 0, destination_port = 0;
    uint64_t source[2] = {0, 0}, destination[2] = {0, 0};
    if (ports) {
        source_port = np_get16(transport);
        destination_port = np_get16(transport + 2);
    }
    if (version == 4) {
        source[0] = *(const uint32_t *)(const void *)(network + 12);
        destination[0] = *(const uint32_t *)(const void *)(network + 16);
    } else {
        for (int i = 0; i < 2; i++) {
            source[i] = load64(network + 8 + 8 * i);
            destination[i] = load64(network + 24 + 8 * i);
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
