// SPDX-License-Identifier: Apache-2.0 OR MIT
// The routes of IPv4.

#include "ip_forward.h"

#define KEY uint32_t
#define KEY_BITS 32
#define ROUTE struct np_route4
#define ROUTE_KEY(route) ((route).prefix)

static inline uint32_t key_bits(uint32_t key, uint32_t at, uint32_t count)
{
    return key << at >> (32 - count);
}

static inline uint32_t key_difference(uint32_t a, uint32_t b)
{
    return a ^ b;
}

static inline int key_begins(uint32_t difference, uint32_t bits)
{
    return (uint64_t)difference >> (32 - bits) == 0;
}

static uint32_t leading_zeros(uint32_t word)
{
    uint32_t zeros = 0;
    for (uint32_t half = 16; half; half /= 2)
        if (!(word >> (32 - half)))
            zeros += half, word <<= half;
    return word ? zeros : 32;
}

static uint32_t key_common(uint32_t a, uint32_t b)
{
    return leading_zeros(a ^ b);
}

static int key_is_padded(uint32_t key, uint32_t bits)
{
    return (uint32_t)((uint64_t)key << bits) == 0;
}

static int key_compare(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

#include "trie.h"

void np_routes4_start(void)
{
    build((const struct np_route4 *)np_config.routes4, np_config.route4_count);
}

uint32_t np_route4(uint32_t address)
{
    return look_up(address);
}
