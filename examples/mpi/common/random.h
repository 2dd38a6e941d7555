/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Seeded inputs: a counter in, 64 well-mixed bits out, the same on every rank and machine. The
 * mixing function is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, OOPSLA 2014).
 */
#ifndef EXAMPLES_RANDOM_H
#define EXAMPLES_RANDOM_H

#include <stdint.h>

static inline uint64_t random_bits(uint64_t seed, uint64_t index)
{
    uint64_t bits = seed * UINT64_C(0xD1342543DE82EF95) + (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
    return bits ^ (bits >> 31);
}

/* From 0 included to 1 excluded, a multiple of 2^-53. */
static inline double random_unit(uint64_t seed, uint64_t index)
{
    return (double)(random_bits(seed, index) >> 11) * 0x1p-53;
}

#endif
