// SPDX-License-Identifier: Apache-2.0 OR MIT
// Address spaces: areas, page tables, and pages that appear at their first access.
//
// The hardware does not set accessed and dirty bits (Svade), and the kernel never takes a page away
// from a process: every page is mapped with both bits set.

#include "kernel.h"

enum { LEVEL_BITS = 9, ENTRIES = 512, USER_ENTRIES = 256 };

static uint64_t *child(uint64_t entry)
{
    return at(entry >> 10 << 12);
}

static uint64_t entry_of(uint64_t page, uint64_t bits)
{
    return page >> 12 << 10 | bits;
}

int space_create(struct hart *hart, struct process *process)
{
    uint64_t page = page_take(hart);
    if (!page)
        return -ENOMEM;
    process->root = at(page);
    memcpy(process->root + USER_ENTRIES, kernel_root + USER_ENTRIES, USER_ENTRIES * 8);
    return 0;
}

// The entry of the 4 KiB page of `address`; creates tables if `hart` is not null.
static uint64_t *entry_at(struct hart *hart, struct process *process, uint64_t address)
{
    uint64_t *table = process->root;
    for (unsigned level = 2; level > 0; level--) {
        uint64_t *entry = &table[address >> (12 + LEVEL_BITS * level) & (ENTRIES - 1)];
        if (!(*entry & PTE_VALID)) {
            uint64_t page = hart ? page_take(hart) : 0;
            if (!page)
                return NULL;
            *entry = entry_of(page, PTE_VALID);
        }
        table = child(*entry);
    }
    return &table[address >> 12 & (ENTRIES - 1)];
}

void space_destroy(struct hart *hart, struct process *process)
{
    csr_write("satp", 8ul << 60 | physical_of(kernel_root) >> 12);
    for (unsigned i = 0; i < USER_ENTRIES; i++) {
        if (!(process->root[i] & PTE_VALID))
            continue;
        uint64_t *middle = child(process->root[i]);
        for (unsigned j = 0; j < ENTRIES; j++) {
            if (!(middle[j] & PTE_VALID))
                continue;
            uint64_t *leaves = child(middle[j]);
            for (unsigned k = 0; k < ENTRIES; k++)
                if (leaves[k] & PTE_OWNED)
                    page_give(hart, leaves[k] >> 10 << 12);
            page_give(hart, physical_of(leaves));
        }
        page_give(hart, physical_of(middle));
    }
    page_give(hart, physical_of(process->root));
    process->root = NULL;
    process->areas = 0;
    flush_space(process->pid);
}

struct area *area_find(struct process *process, uint64_t address)
{
    unsigned low = 0, high = process->areas;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (process->area[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < process->areas && process->area[low].start <= address ? &process->area[low] : NULL;
}

int area_is_free(const struct process *process, uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < process->areas; i++)
        if (process->area[i].start < end && start < process->area[i].end)
            return 0;
    return 1;
}

static int insert(struct process *process, unsigned place, struct area area)
{
    if (process->areas == MOST_AREAS)
        return -ENOMEM;
    for (unsigned i = process->areas++; i > place; i--)
        process->area[i] = process->area[i - 1];
    process->area[place] = area;
    return 0;
}

int area_add(struct process *process, struct area area)
{
    if (area.start >= area.end || area.end > USER_TOP || !area_is_free(process, area.start, area.end))
        return -EINVAL;
    unsigned place = 0;
    while (place < process->areas && process->area[place].start < area.start)
        place++;
    // A mapping beside one of the same kind extends it: programs that map often keep few areas.
    if (area.kind == AREA_ZERO && place < process->areas) {
        struct area *above = &process->area[place];
        if (above->kind == AREA_ZERO && above->start == area.end && above->rights == area.rights) {
            above->start = area.start;
            return 0;
        }
    }
    return insert(process, place, area);
}

// Makes `address` a boundary between areas.
static int split(struct process *process, uint64_t address)
{
    struct area *area = area_find(process, address);
    if (!area || area->start == address)
        return 0;
    struct area upper = *area;
    uint64_t before = address - area->start;
    upper.start = address;
    upper.file += before;
    upper.file_bytes = area->file_bytes > before ? area->file_bytes - before : 0;
    int error = insert(process, (unsigned)(area - process->area) + 1, upper);
    if (!error)
        area->end = address;
    return error;
}

// No TLB and no device uses the entry of a page of this process after this. The process is unlocked
// in between, as the device may wait for a page of it: its page table may get entries.
static void flush(struct hart *hart, struct process *process, uint64_t address)
{
    flush_page(address, process->pid);
    if (!process->device_cores)
        return;
    unlock(&process->lock);
    device_unmap(hart, address);
    lock(&process->lock);
}

static void unmap(struct hart *hart, struct process *process, uint64_t start, uint64_t end)
{
    for (uint64_t page = start; page < end; page += PAGE_BYTES) {
        uint64_t *entry = entry_at(NULL, process, page);
        if (!entry || !*entry)
            continue;
        uint64_t old = *entry;
        *entry = 0;
        if (old & PTE_VALID)
            flush(hart, process, page);
        if (old & PTE_OWNED)
            page_give(hart, old >> 10 << 12);
    }
}

int area_remove(struct hart *hart, struct process *process, uint64_t start, uint64_t end)
{
    int error = split(process, start);
    if (!error)
        error = split(process, end);
    if (error)
        return error;
    for (unsigned i = 0; i < process->areas;) {
        struct area area = process->area[i];
        if (area.start < start || area.end > end) {
            i++;
            continue;
        }
        // First the area: no page of it appears while its pages are taken away.
        process->areas--;
        for (unsigned j = i; j < process->areas; j++)
            process->area[j] = process->area[j + 1];
        unmap(hart, process, area.start, area.end);
    }
    return 0;
}

int area_protect(struct hart *hart, struct process *process, uint64_t start, uint64_t end, uint32_t rights)
{
    for (uint64_t address = start; address < end;) {
        struct area *area = area_find(process, address);
        if (!area || area->kind == AREA_PORTS)
            return -ENOMEM;
        address = area->end;
    }
    int error = split(process, start);
    if (!error)
        error = split(process, end);
    if (error)
        return error;
    for (unsigned i = 0; i < process->areas; i++) {
        struct area *area = &process->area[i];
        if (area->start < start || area->end > end || area->rights == rights)
            continue;
        area->rights = rights;
        // The pages fault once more, and get the new rights then. What a page holds is kept, and so
        // is whom it belongs to: an entry that is not valid keeps both.
        for (uint64_t page = area->start; page < area->end; page += PAGE_BYTES) {
            uint64_t *entry = entry_at(NULL, process, page);
            if (entry && *entry & PTE_VALID) {
                *entry &= ~(uint64_t)PTE_VALID;
                flush(hart, process, page);
            }
        }
    }
    return 0;
}

// The page of the shared segment at `index`; 0: no memory.
static uint64_t shared_page(struct hart *hart, struct program *program, uint64_t index)
{
    uint64_t page = 0;
    lock(&program->lock);
    uint64_t ***tables = &program->shared[index / ENTRIES / ENTRIES];
    if (!*tables && (page = page_take(hart)))
        *tables = at(page);
    uint64_t **table = *tables ? &(*tables)[index / ENTRIES % ENTRIES] : NULL;
    if (table && !*table && (page = page_take(hart)))
        *table = at(page);
    page = 0;
    if (table && *table) {
        page = (*table)[index % ENTRIES];
        if (!page)
            page = (*table)[index % ENTRIES] = page_take(hart);
    }
    unlock(&program->lock);
    return page;
}

// Finds or makes the page for an address of an area; returns its entry without rights, or 0.
static uint64_t make_page(struct hart *hart, struct process *process, const struct area *area, uint64_t address)
{
    uint64_t offset = address - area->start, page;
    switch (area->kind) {
    case AREA_SHARED:
        page = shared_page(hart, process->program, (address - SHARED_BASE) / PAGE_BYTES);
        return page ? entry_of(page, 0) : 0;
    case AREA_PORTS:
        return entry_of(handover->ports + (uint64_t)process->program->number * PAGE_BYTES, 0);
    case AREA_IMAGE:
        // A page that nobody writes is that of the file itself, shared by all ranks.
        if (!(area->rights & PTE_WRITE) && offset < area->file_bytes && (area->file + offset) % PAGE_BYTES == 0)
            return entry_of(area->file + offset, 0);
        break;
    default:
        break;
    }
    page = page_take(hart);
    if (!page)
        return 0;
    if (area->kind == AREA_IMAGE && offset < area->file_bytes) {
        uint64_t bytes = area->file_bytes - offset;
        memcpy(at(page), at(area->file + offset), bytes < PAGE_BYTES ? bytes : PAGE_BYTES);
    }
    return entry_of(page, PTE_OWNED);
}

int page_in(struct hart *hart, struct process *process, uint64_t address, uint32_t right, uint64_t *physical)
{
    int error = 0;
    lock(&process->lock);
    struct area *area = area_find(process, address);
    uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1);
    if (!area || !(area->rights & right)) {
        error = -EFAULT;
    } else {
        uint64_t *entry = entry_at(hart, process, address);
        if (!entry) {
            error = -ENOMEM;
        } else if (!(*entry & PTE_VALID)) {
            uint64_t found = *entry;
            // The file's own page does not become writable: the process gets a copy.
            int copies = found && area->kind == AREA_IMAGE && area->rights & PTE_WRITE && !(found & PTE_OWNED);
            if (!found || copies)
                found = make_page(hart, process, area, page);
            if (found) {
                uint64_t kept = found >> 10 << 10 | (found & PTE_OWNED);
                *entry = kept | area->rights | PTE_VALID | PTE_USER | PTE_ACCESSED | PTE_DIRTY;
                if (area->rights & PTE_EXECUTE && kept & PTE_OWNED)
                    __asm__ volatile("fence.i" : : : "memory");
            } else {
                error = -ENOMEM;
            }
            flush_page(page, process->pid);
        }
        if (!error && physical)
            *physical = (*entry >> 10 << 12) | (address & (PAGE_BYTES - 1));
    }
    unlock(&process->lock);
    return error;
}

int copy_in(struct hart *hart, struct process *process, void *to, uint64_t from, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t physical, part = PAGE_BYTES - (from + done) % PAGE_BYTES;
        if (part > bytes - done)
            part = bytes - done;
        int error = page_in(hart, process, from + done, PTE_READ, &physical);
        if (error)
            return error;
        memcpy((uint8_t *)to + done, at(physical), part);
        done += part;
    }
    return 0;
}

int copy_out(struct hart *hart, struct process *process, uint64_t to, const void *from, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t physical, part = PAGE_BYTES - (to + done) % PAGE_BYTES;
        if (part > bytes - done)
            part = bytes - done;
        int error = page_in(hart, process, to + done, PTE_WRITE, &physical);
        if (error)
            return error;
        memcpy(at(physical), (const uint8_t *)from + done, part);
        done += part;
    }
    return 0;
}

long copy_in_string(struct hart *hart, struct process *process, char *to, uint64_t from)
{
    for (long length = 0; length < PAGE_BYTES; length++) {
        int error = copy_in(hart, process, to + length, from + (uint64_t)length, 1);
        if (error)
            return error;
        if (!to[length])
            return length;
    }
    return -ENAMETOOLONG;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    if ((((uintptr_t)to | (uintptr_t)from) & 7) == 0) {
        for (; bytes >= 8; bytes -= 8, target += 8, source += 8)
            *(uint64_t *)(void *)target = *(const uint64_t *)(const void *)source;
    }
    while (bytes-- > 0)
        *target++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = (uint8_t)value;
    return to;
}
