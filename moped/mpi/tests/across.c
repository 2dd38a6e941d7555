// SPDX-License-Identifier: Apache-2.0 OR MIT
// Loads and stores of every width across the boundary of two fresh pages, which are checked byte by byte. Prints a
// hash of all values, which another processor can be asked for.

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 64 };

static uint64_t hash = 14695981039346656037u;

static void note(uint64_t value)
{
    hash = (hash ^ value) * 1099511628211u;
}

#define LOAD(name) \
    static uint64_t name##_at(const void *at) \
    { \
        uint64_t value; \
        __asm__ volatile(#name " %0, 0(%1)" : "=r"(value) : "r"(at) : "memory"); \
        return value; \
    }
#define STORE(name) \
    static void name##_at(void *at, uint64_t value) \
    { \
        __asm__ volatile(#name " %0, 0(%1)" : : "r"(value), "r"(at) : "memory"); \
    }
LOAD(lh)
LOAD(lhu)
LOAD(lw)
LOAD(lwu)
LOAD(ld)
STORE(sh)
STORE(sw)
STORE(sd)

static uint64_t fld_at(const void *at)
{
    double value;
    uint64_t bits;
    __asm__ volatile("fld %0, 0(%1)" : "=f"(value) : "r"(at) : "memory");
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void fsd_at(void *at, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    __asm__ volatile("fsd %0, 0(%1)" : : "f"(value), "r"(at) : "memory");
}

static const struct load {
    uint64_t (*perform)(const void *);
    unsigned width;
    int is_signed;
} loads[] = {{lh_at, 2, 1}, {lhu_at, 2, 0}, {lw_at, 4, 1}, {lwu_at, 4, 0}, {ld_at, 8, 0}, {fld_at, 8, 0}};

static const struct store {
    void (*perform)(void *, uint64_t);
    unsigned width;
} stores[] = {{sh_at, 2}, {sw_at, 4}, {sd_at, 8}, {fsd_at, 8}};

static unsigned char *fresh(void)
{
    unsigned char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

int main(void)
{
    unsigned char *pages = fresh();
    unsigned wrong = 0, boundary = 1;
    if (pages == NULL) return 2;
    for (unsigned s = 0; s < sizeof stores / sizeof *stores; s++) {
        for (unsigned before = 1; before < stores[s].width; before++) {
            // Neither page has been accessed before the first store.
            unsigned char *at = pages + boundary++ * 2 * PAGE - before;
            const uint64_t value = 0x8877665544332211u * (before + 3);
            stores[s].perform(at, value);
            for (unsigned i = 0; i < stores[s].width; i++)
                wrong += at[i] != (unsigned char)(value >> (8 * i));
            wrong += at[-1] != 0 || at[stores[s].width] != 0;
            for (unsigned l = 0; l < sizeof loads / sizeof *loads; l++) {
                const unsigned width = loads[l].width;
                uint64_t expected = 0;
                for (unsigned i = 0; i < width; i++)
                    expected |= (uint64_t)at[i] << (8 * i);
                const unsigned rest = 64 - 8 * width;
                if (loads[l].is_signed) expected = (uint64_t)((int64_t)(expected << rest) >> rest);
                const uint64_t found = loads[l].perform(at);
                wrong += found != expected;
                note(found);
            }
        }
    }
    // A load before any other access, and copies whose two sides are misaligned to each other.
    unsigned char *other = fresh();
    if (other == NULL) return 2;
    wrong += ld_at(other + PAGE - 3) != 0;
    for (unsigned at = 0; at < 3 * PAGE; at += 8)
        sd_at(other + 5 + at, ld_at(pages + 3 + at));
    for (unsigned at = 0; at < 3 * PAGE; at++) {
        wrong += other[5 + at] != pages[3 + at];
        note(other[5 + at]);
    }
    printf("across: %u wrong, %016llx\n", wrong, (unsigned long long)hash);
    return wrong != 0;
}
