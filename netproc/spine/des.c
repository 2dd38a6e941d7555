// SPDX-License-Identifier: Apache-2.0 OR MIT
// Triple DES: encrypts the payload in place with the Triple Data Encryption Algorithm of FIPS 46-3
// (encrypt, decrypt, encrypt with three keys) in cipher block chaining (NIST SP 800-38A). Each
// packet starts with the initialisation vector of the configuration. The bytes after the last
// complete block are combined by exclusive or with the encryption of the last cipher block (of the
// initialisation vector, if there is no complete block), so the length does not change.
//
// S-boxes and permutation P are combined in eight tables of 64 words. The halves of a block are
// kept rotated to the left by one bit: then the six input bits of the even S-boxes are the lower
// bits of the four bytes, and those of the odd S-boxes likewise after a rotation by four.

#include "des.h"
#include "spine.h"

enum { ROUNDS = 16, BLOCK = 8 };

// The key bits of a round: those of S1, S3, S5 and S7, and those of S2, S4, S6 and S8, each in the
// lower bits of a byte.
struct round_key {
    uint32_t odd, even;
};

static uint32_t tables[8][64] __attribute__((aligned(NP_LINE)));
static struct round_key keys[3 * ROUNDS] __attribute__((aligned(NP_LINE)));

static inline uint32_t rotate(uint32_t word, int by)
{
    return word << by | word >> (32 - by);
}

static void make_tables(void)
{
    for (int box = 0; box < 8; box++) {
        for (uint32_t in = 0; in < 64; in++) {
            uint32_t row = (in >> 4 & 2) | (in & 1), out = 0;
            uint32_t value = (uint32_t)DES_S[box][16 * row + (in >> 1 & 15)] << (28 - 4 * box);
            for (int bit = 0; bit < 32; bit++)
                out |= (value >> (32 - DES_P[bit]) & 1) << (31 - bit);
            tables[box][in] = rotate(out, 1);
        }
    }
}

static void make_keys(const uint8_t key[8], struct round_key out[ROUNDS], int decrypt)
{
    uint64_t bits = (uint64_t)np_get32(key) << 32 | np_get32(key + 4);
    uint32_t c = 0, d = 0;
    for (int i = 0; i < 28; i++) {
        c = c << 1 | (bits >> (64 - DES_PC1[i]) & 1);
        d = d << 1 | (bits >> (64 - DES_PC1[28 + i]) & 1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int by = DES_SHIFTS[round];
        c = (c << by | c >> (28 - by)) & 0xfffffff;
        d = (d << by | d >> (28 - by)) & 0xfffffff;
        uint64_t both = (uint64_t)c << 28 | d;
        uint32_t six[8];
        for (int box = 0; box < 8; box++) {
            six[box] = 0;
            for (int i = 0; i < 6; i++)
                six[box] = six[box] << 1 | (both >> (56 - DES_PC2[6 * box + i]) & 1);
        }
        out[decrypt ? ROUNDS - 1 - round : round] = (struct round_key){
            six[0] << 24 | six[2] << 16 | six[4] << 8 | six[6],
            six[1] << 24 | six[3] << 16 | six[5] << 8 | six[7],
        };
    }
}

void np_3des_start(void)
{
    make_tables();
    for (int i = 0; i < 3; i++)
        make_keys(np_config.des_keys + 8 * i, keys + ROUNDS * i, i == 1);
}

// Exchanges the bits of *b under the mask with those of *a that are `by` places to the left.
static inline void exchange(uint32_t *a, uint32_t *b, int by, uint32_t mask)
{
    uint32_t different = (*a >> by ^ *b) & mask;
    *b ^= different;
    *a ^= different << by;
}

// The word of a table for the six bits at `shift`.
static inline uint32_t look_up(int box, uint32_t word, int shift)
{
    // The index times the size of a word.
    uint32_t offset = (shift ? word >> (shift - 2) : word << 2) & 0xfc;
    return *(const uint32_t *)(const void *)((const uint8_t *)tables[box] + offset);
}

static inline uint32_t cipher(uint32_t half, const struct round_key *key)
{
    uint32_t odd = rotate(half, 28) ^ key->odd, even = half ^ key->even;
    return look_up(0, odd, 24) ^ look_up(2, odd, 16) ^ look_up(4, odd, 8) ^ look_up(6, odd, 0) ^
           look_up(1, even, 24) ^ look_up(3, even, 16) ^ look_up(5, even, 8) ^ look_up(7, even, 0);
}

// Encrypts a block with the three keys. Two numbers: the block's halves, most significant first.
static void encrypt(uint32_t block[2])
{
    uint32_t l = block[0], r = block[1];
    // The initial permutation: a transposition of the 8 by 8 bits.
    exchange(&l, &r, 4, 0x0f0f0f0f);
    exchange(&l, &r, 16, 0x0000ffff);
    exchange(&r, &l, 2, 0x33333333);
    exchange(&r, &l, 8, 0x00ff00ff);
    exchange(&l, &r, 1, 0x55555555);
    l = rotate(l, 1);
    r = rotate(r, 1);
    const struct round_key *key = keys;
    for (int part = 0; part < 3; part++) {
        for (int round = 0; round < ROUNDS; round += 2, key += 2) {
            l ^= cipher(r, key);
            r ^= cipher(l, key + 1);
        }
        // The halves are exchanged after the last round. Final and initial permutation between two
        // encryptions cancel each other.
        uint32_t left = l;
        l = r;
        r = left;
    }
    l = rotate(l, 31);
    r = rotate(r, 31);
    exchange(&l, &r, 1, 0x55555555);
    exchange(&r, &l, 8, 0x00ff00ff);
    exchange(&r, &l, 2, 0x33333333);
    exchange(&l, &r, 16, 0x0000ffff);
    exchange(&l, &r, 4, 0x0f0f0f0f);
    block[0] = l;
    block[1] = r;
}

unsigned np_3des(struct np_packet *packet)
{
    size_t bytes;
    uint8_t *text = np_payload(packet, &bytes);
    uint32_t chain[2] = {np_get32(np_config.des_iv), np_get32(np_config.des_iv + 4)};
    for (; bytes >= BLOCK; bytes -= BLOCK, text += BLOCK) {
        chain[0] ^= np_get32(text);
        chain[1] ^= np_get32(text + 4);
        encrypt(chain);
        np_put32(text, chain[0]);
        np_put32(text + 4, chain[1]);
    }
    if (bytes) {
        encrypt(chain);
        for (size_t i = 0; i < bytes; i++)
            text[i] ^= (uint8_t)(chain[i / 4] >> (24 - 8 * (i % 4)));
    }
    return np_forward(packet, 0);
}
