// SPDX-License-Identifier: Apache-2.0 OR MIT
// Physical pages. Each hart keeps up to PAGE_CACHE free pages; the rest belongs to all harts: a list
// of pages that were given back, and memory that was never taken.

#include "kernel.h"

static struct {
    lock_t lock;
    uint64_t list; // first free page; its first 8 bytes hold the address of the next one
    uint64_t unused, end;
} pages __attribute__((aligned(64)));

void pages_start(void)
{
    pages.unused = page_up(handover->free);
    pages.end = handover->memory + handover->memory_bytes;
}

static void refill(struct hart *hart)
{
    lock(&pages.lock);
    while (hart->cached < PAGE_BATCH) {
        uint64_t page = pages.list;
        if (page) {
            pages.list = *(uint64_t *)at(page);
        } else if (pages.end - pages.unused >= PAGE_BYTES) {
            page = pages.unused;
            pages.unused += PAGE_BYTES;
        } else {
            break;
        }
        hart->cache[hart->cached++] = page;
    }
    unlock(&pages.lock);
}

uint64_t page_take(struct hart *hart)
{
    if (!hart->cached)
        refill(hart);
    if (!hart->cached)
        return 0;
    uint64_t page = hart->cache[--hart->cached];
    clear_page(at(page));
    return page;
}

void page_give(struct hart *hart, uint64_t page)
{
    if (hart->cached == PAGE_CACHE) {
        lock(&pages.lock);
        while (hart->cached > PAGE_CACHE - PAGE_BATCH) {
            uint64_t given = hart->cache[--hart->cached];
            *(uint64_t *)at(given) = pages.list;
            pages.list = given;
        }
        unlock(&pages.lock);
    }
    hart->cache[hart->cached++] = page;
}
