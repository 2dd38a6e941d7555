// SPDX-License-Identifier: Apache-2.0 OR MIT
// The calls of calls.h.

#include "calls.h"
#include "kernel.h"

static long shared(struct process *process, uint64_t bytes)
{
    struct program *program = process->program;
    if (bytes == 0 || bytes > SHARED_LIMIT)
        return -EINVAL;
    lock(&process->lock);
    lock(&program->lock);
    if (!program->shared_bytes)
        program->shared_bytes = page_up(bytes);
    uint64_t size = program->shared_bytes;
    unlock(&program->lock);
    long result = (long)SHARED_BASE;
    if (bytes > size) {
        result = -EINVAL;
    } else if (!area_find(process, SHARED_BASE)) {
        int error = area_add(process, (struct area){.start = SHARED_BASE, .end = SHARED_BASE + size, .kind = AREA_SHARED,
                                                    .rights = PTE_READ | PTE_WRITE});
        if (error)
            result = error;
    }
    unlock(&process->lock);
    return result;
}

static long ports(struct hart *hart, struct process *process)
{
    if (!handover->ports)
        return -ENODEV;
    int error = 0;
    lock(&process->lock);
    if (!area_find(process, PORTS_BASE))
        error = area_add(process, (struct area){.start = PORTS_BASE, .end = PORTS_BASE + PAGE_BYTES, .kind = AREA_PORTS,
                                                .rights = PTE_READ | PTE_WRITE});
    unlock(&process->lock);
    if (error)
        return error;
    device_enter(hart, process);
    return (long)PORTS_BASE;
}

static long move(struct hart *hart, struct process *process, uint64_t core)
{
    if (core >= handover->harts)
        return -EINVAL;
    if (core == hart->number)
        return 0;
    process->frame.x[A0] = 0;
    device_leave(hart, process);
    leave(hart);
    queue_add(&harts[core], process);
    host_call(HOST_INTERRUPT, core, 0, 0, 0);
    return 0;
}

static long fault_in(struct hart *hart, struct process *process, uint64_t address, uint64_t bytes)
{
    if (bytes > USER_TOP || address > USER_TOP - bytes)
        return -EFAULT;
    for (uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1); page < address + bytes; page += PAGE_BYTES) {
        int error = page_in(hart, process, page, PTE_READ, NULL);
        if (error)
            return error;
    }
    return 0;
}

static long report(struct hart *hart, struct process *process, uint64_t address, uint64_t bytes)
{
    char text[401];
    if (bytes > sizeof text - 1)
        bytes = sizeof text - 1;
    int error = copy_in(hart, process, text, address, bytes);
    if (error)
        return error;
    text[bytes] = 0;
    for (uint64_t i = 0; i < bytes; i++)
        if (text[i] < ' ')
            text[i] = ' ';
    complain(hart, process->frame.pc - 4, "%s", text);
    return 0;
}

long own_call(struct hart *hart, struct process *process, const uint64_t *a, uint64_t number)
{
    switch (number) {
    case MB_CALL_RANK:
        return process->rank;
    case MB_CALL_SIZE:
        return process->program->ranks;
    case MB_CALL_SHARED:
        return shared(process, a[0]);
    case MB_CALL_PORTS:
        return ports(hart, process);
    case MB_CALL_MARK:
        if (a[0] > MB_MARK_TIMING)
            return -EINVAL;
        return host_call(HOST_MARK, a[0], process->program->number, process->rank, 0);
    case MB_CALL_MOVE:
        return move(hart, process, a[0]);
    case MB_CALL_PROGRAM:
        return process->program->number;
    case MB_CALL_FAULT_IN:
        return fault_in(hart, process, a[0], a[1]);
    case MB_CALL_REPORT:
        return report(hart, process, a[0], a[1]);
    default:
        return (long)hart->number;
    }
}
