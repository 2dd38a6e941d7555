// SPDX-License-Identifier: Apache-2.0 OR MIT
// MD5 of the seven test strings of RFC 1321: a program with a known result, for tests of
// instruction sets. Prints each digest; status 1 if one differs from section A.5 of the RFC.

#include "host.h"

// floor(2^32 * abs(sin(i + 1))), RFC 1321 section 3.4.
static const uint32_t SINE[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const uint8_t TURN[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t rotate(uint32_t word, uint32_t by)
{
    return word << by | word >> (32 - by);
}

static void digest_block(uint32_t state[4], const uint8_t block[64])
{
    uint32_t x[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++)
        x[i] = block[4 * i] | (uint32_t)block[4 * i + 1] << 8 | (uint32_t)block[4 * i + 2] << 16 |
               (uint32_t)block[4 * i + 3] << 24;
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t f, k;
        switch (i / 16) {
        case 0:
            f = (b & c) | (~b & d), k = i;
            break;
        case 1:
            f = (b & d) | (c & ~d), k = 5 * i + 1;
            break;
        case 2:
            f = b ^ c ^ d, k = 3 * i + 5;
            break;
        default:
            f = c ^ (b | ~d), k = 7 * i;
        }
        uint32_t next = b + rotate(a + f + x[k % 16] + SINE[i], TURN[i / 16][i % 4]);
        a = d, d = c, c = b, b = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static void digest(const char *text, uint32_t length, uint8_t out[16])
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t block[64];
    // The text, a one bit, zeros up to 8 bytes before the end of a block, and the length in bits.
    uint32_t padded = (length + 8) / 64 * 64 + 64;
    for (uint32_t at = 0; at < padded; at++) {
        uint32_t from_end = padded - 1 - at;
        uint8_t byte = 0;
        if (at < length)
            byte = (uint8_t)text[at];
        else if (at == length)
            byte = 0x80;
        else if (from_end < 8)
            byte = (uint8_t)((uint64_t)length * 8 >> (8 * (7 - from_end)));
        block[at % 64] = byte;
        if (at % 64 == 63)
            digest_block(state, block);
    }
    for (int i = 0; i < 16; i++)
        out[i] = (uint8_t)(state[i / 4] >> (8 * (i % 4)));
}

static const struct {
    const char *text, *digest;
} CASES[] = {
    {"", "d41d8cd98f00b204e9800998ecf8427e"},
    {"a", "0cc175b9c0f1b6a831c399e269772661"},
    {"abc", "900150983cd24fb0d6963f7d28e17f72"},
    {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
    {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
     "57edf4a22be3c955ac49da2e2107b67a"},
};

int main(void)
{
    int status = 0;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        uint8_t bytes[16];
        char line[33];
        uint32_t length = 0;
        while (CASES[i].text[length])
            length++;
        digest(CASES[i].text, length, bytes);
        for (int j = 0; j < 32; j++) {
            line[j] = "0123456789abcdef"[bytes[j / 2] >> (j % 2 ? 0 : 4) & 15];
            if (line[j] != CASES[i].digest[j])
                status = 1;
        }
        line[32] = '\n';
        host_write(line, sizeof line);
    }
    return status;
}
