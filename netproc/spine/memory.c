// SPDX-License-Identifier: Apache-2.0 OR MIT
// The functions that a compiler may call in freestanding code.

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if ((((uintptr_t)t ^ (uintptr_t)f) & 7) == 0) {
        for (; bytes && ((uintptr_t)t & 7); bytes--)
            *t++ = *f++;
        for (; bytes >= 8; bytes -= 8, t += 8, f += 8)
            *(uint64_t *)(void *)t = *(const uint64_t *)(const void *)f;
    }
    for (; bytes; bytes--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    if ((uintptr_t)t - (uintptr_t)f >= bytes)
        return memcpy(to, from, bytes);
    while (bytes--)
        t[bytes] = f[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *t = to;
    uint64_t word = (uint8_t)value * 0x0101010101010101ul;
    for (; bytes && ((uintptr_t)t & 7); bytes--)
        *t++ = (uint8_t)value;
    for (; bytes >= 8; bytes -= 8, t += 8)
        *(uint64_t *)(void *)t = word;
    for (; bytes; bytes--)
        *t++ = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *x = a, *y = b;
    for (; bytes; bytes--, x++, y++)
        if (*x != *y)
            return *x < *y ? -1 : 1;
    return 0;
}
