// SPDX-License-Identifier: Apache-2.0 OR MIT
// MOPED as the kernel uses it; moped/mpi/moped.h has its registers and ports.
//
// The device learns the address space of a process from the core that makes a reservation. What it
// may still hold of a process is in the MOPEDs of the cores where the process has been.

#include "../mpi/moped.h"
#include "kernel.h"

enum { DESCRIPTORS = 256 }; // of a MOPED: a descriptor's number is node * 256 + entry

static volatile struct moped_control *registers(void)
{
    return at(handover->control);
}

// Serves the page faults that the device reports to this core. No process may be locked by this
// hart: two harts that wait for each other's process would never end.
void device_fault(struct hart *hart)
{
    if (!(csr_read("sip") >> 9 & 1))
        return;
    volatile struct moped_control *device = registers();
    for (uint64_t fault; (fault = device->fault);) {
        uint64_t owner = device->fault_owner, number = owner >> 16 & 0xffff, rank = owner & 0xffff;
        uint32_t right = fault & 2 ? PTE_WRITE : PTE_READ;
        int error = -ESRCH;
        if (number < handover->programs && rank < programs[number].ranks) {
            struct process *process = programs[number].process[rank];
            if (__atomic_load_n(&process->state, __ATOMIC_ACQUIRE) != PROCESS_ENDED)
                error = page_in(hart, process, fault & ~(uint64_t)(PAGE_BYTES - 1), right, NULL);
        }
        device->resolve = error ? MOPED_UNMAPPABLE : MOPED_MAPPED;
    }
}

// The current process uses this core's MOPED.
void device_enter(struct hart *hart, struct process *process)
{
    process->device_cores |= 1ul << hart->number;
}

// Before the current process runs on another core.
void device_leave(struct hart *hart, const struct process *process)
{
    if (!process->device_cores)
        return;
    while (registers()->in_flight)
        device_fault(hart);
}

// After this no MOPED accesses the page of `address` of the current process. The entry of the page
// table is not valid any more.
void device_unmap(struct hart *hart, uint64_t address)
{
    registers()->invalidate = address;
    while (registers()->invalidate)
        device_fault(hart);
}

// Ends the use of a descriptor: what has not matched is cancelled, the rest is awaited.
static void end_descriptor(struct hart *hart, uintptr_t port, uint32_t id)
{
    for (;;) {
        uint32_t state = moped_poll(port, id, MOPED_PEEK) & MOPED_STATE_BITS;
        switch (state) {
        case MOPED_NONE:
            return;
        case MOPED_RESERVED:
        case MOPED_PENDING:
            moped_store(port, id, MOPED_CANCEL, 0);
            break;
        case MOPED_FOUND:
            // The message was taken from its sender, which waits: it is received without a buffer.
            moped_store(port, id, MOPED_LENGTH, 0);
            moped_store(port, id, MOPED_GO, moped_go(MOPED_TAKE, 0, 0, 0, 0));
            break;
        case MOPED_MATCHED:
            break;
        default:
            moped_poll(port, id, MOPED_STATE);
        }
        device_fault(hart);
    }
}

// After this the device has nothing of the current process, whose state is PROCESS_ENDED.
void device_end(struct hart *hart, struct process *process)
{
    uintptr_t port = (uintptr_t)at(handover->ports + (uint64_t)process->program->number * MOPED_PAGE_BYTES +
                                   process->rank * MOPED_PORT_BYTES);
    for (uint32_t core = 0; core < handover->harts; core++)
        if (process->device_cores >> core & 1)
            for (uint32_t entry = 0; entry < DESCRIPTORS; entry++)
                end_descriptor(hart, port, core * DESCRIPTORS + entry);
    // Lines of its page tables are dropped with any page: these pages will have other contents.
    device_unmap(hart, 0);
    process->device_cores = 0;
}
