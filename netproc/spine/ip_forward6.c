// SPDX-License-Identifier: Apache-2.0 OR MIT
// The routes of IPv6.

#include "ip_forward.h"

struct key {
    uint64_t high, low;
};

#define KEY struct key
#define KEY_BITS 128
#define ROUTE struct np_route6
#define ROUTE_KEY(route) ((struct key){(route).prefix[0], (route).prefix[1]})

static inline uint32_t key_bits(struct key key, uint32_t at, uint32_t count)
{
    // The 64 bits from `at` on.
    uint64_t word;
    if (at >= 64)
        word = key.low << (at - 64);
    else if (at)
        word = key.high << at | key.low >> (64 - at);
    else
        word = key.high;
    return (uint32_t)(word >> (64 - count));
}

static inline struct key key_difference(struct key a, struct key b)
{
    return (struct key){a.high ^ b.high, a.low ^ b.low};
}

static inline int key_begins(struct key difference, uint32_t bits)
{
    if (bits <= 64)
        return bits == 0 || difference.high >> (64 - bits) == 0;
    return difference.high == 0 && difference.low >> (128 - bits) == 0;
}

static uint32_t leading_zeros(uint64_t word)
{
    uint32_t zeros = 0;
    for (uint32_t half = 32; half; half /= 2)
        if (!(word >> (64 - half)))
            zeros += half, word <<= half;
    return word ? zeros : 64;
}

static uint32_t key_common(struct key a, struct key b)
{
    uint32_t high = leading_zeros(a.high ^ b.high);
    return high < 64 ? high : 64 + leading_zeros(a.low ^ b.low);
}

static int key_is_padded(struct key key, uint32_t bits)
{
    if (bits >= 64)
        return (bits == 128 ? 0 : key.low << (bits - 64)) == 0;
    return key.low == 0 && key.high << bits == 0;
}

static int key_compare(struct key a, struct key b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return a.low < b.low ? -1 : a.low > b.low;
}

#include "trie.h"

void np_routes6_start(void)
{
    build((const struct np_route6 *)np_config.routes6, np_config.route6_count);
}

uint32_t np_route6(uint64_t high, uint64_t low)
{
    return look_up((struct key){high, low});
}
