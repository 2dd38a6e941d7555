// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which process runs on a hart. A process belongs to the queue of one hart and leaves it only by
// itself (MB_CALL_MOVE). Several processes of one hart take turns.

#include "kernel.h"

enum { STATUS_FLOAT = 3 << 13, STATUS_FLOAT_CLEAN = 2 << 13, INTERRUPT_SOFTWARE = 1 << 1 };

void queue_add(struct hart *hart, struct process *process)
{
    lock(&hart->lock);
    process->hart = hart;
    process->next = NULL;
    if (hart->last)
        hart->last->next = process;
    else
        hart->first = process;
    hart->last = process;
    unlock(&hart->lock);
}

static struct process *queue_take(struct hart *hart)
{
    if (!__atomic_load_n(&hart->first, __ATOMIC_RELAXED))
        return NULL;
    lock(&hart->lock);
    struct process *process = hart->first;
    hart->first = process->next;
    if (!hart->first)
        hart->last = NULL;
    unlock(&hart->lock);
    return process;
}

// Takes the current process off the hart, with all of its state in its frame.
void leave(struct hart *hart)
{
    struct process *process = hart->current;
    // The floating-point unit is on while a process is current.
    if ((process->frame.status & STATUS_FLOAT) == STATUS_FLOAT) {
        __asm__ volatile("csrs sstatus, %0" : : "r"(STATUS_FLOAT));
        float_save(&process->frame);
        process->frame.status = (process->frame.status & ~(uint64_t)STATUS_FLOAT) | STATUS_FLOAT_CLEAN;
    }
    // A reservation must not survive: its store-conditional could succeed for another process.
    __asm__ volatile("sc.d zero, zero, (%0)" : : "r"(&hart->dropped) : "memory");
    hart->current = NULL;
}

static void enter(struct hart *hart, struct process *process)
{
    hart->current = process;
    hart->frame = &process->frame;
    csr_write("satp", 8ul << 60 | (uint64_t)process->pid << 44 | physical_of(process->root) >> 12);
    if (process->last_hart != hart) {
        // Translations from its last stay here may be out of date, and its code may be new.
        flush_space(process->pid);
        __asm__ volatile("fence.i" : : : "memory");
        process->last_hart = hart;
        if (process->device_cores)
            device_enter(hart, process);
    }
    __asm__ volatile("csrs sstatus, %0" : : "r"(STATUS_FLOAT));
    float_restore(&process->frame);
}

// Makes the sleeping processes ready whose time has come.
static void wake_sleepers(struct hart *hart)
{
    uint64_t now = csr_read("time");
    for (struct process **link = &hart->sleeping; *link;) {
        struct process *process = *link;
        if (process->wake > now && !process->program->killed) {
            link = &process->next;
            continue;
        }
        *link = process->next;
        queue_add(hart, process);
    }
}

void arm_timer(struct hart *hart)
{
    uint64_t next = ~0ul;
    if (hart->current && __atomic_load_n(&hart->first, __ATOMIC_RELAXED))
        next = csr_read("time") + handover->slice;
    for (struct process *process = hart->sleeping; process; process = process->next)
        if (process->wake < next)
            next = process->wake;
    csr_write(STIMECMP, next);
}

// Chooses the next process, or waits for one. Returns the frame to continue.
struct frame *schedule(struct hart *hart)
{
    for (;;) {
        // Cleared first: whoever adds a process afterwards makes it pending again.
        csr_clear("sip", INTERRUPT_SOFTWARE);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        wake_sleepers(hart);
        if (handover->control)
            device_fault(hart);
        if (!hart->current) {
            struct process *process = queue_take(hart);
            if (process)
                enter(hart, process);
        }
        if (hart->current) {
            if (!__atomic_load_n(&hart->current->program->killed, __ATOMIC_RELAXED))
                break;
            process_end(hart, 128 + SIGKILL);
            continue;
        }
        arm_timer(hart);
        __asm__ volatile("wfi" : : : "memory");
    }
    arm_timer(hart);
    return &hart->current->frame;
}

void yield(struct hart *hart)
{
    if (!__atomic_load_n(&hart->first, __ATOMIC_RELAXED))
        return;
    struct process *process = hart->current;
    leave(hart);
    queue_add(hart, process);
}

void sleep_until(struct hart *hart, uint64_t time)
{
    struct process *process = hart->current;
    leave(hart);
    process->wake = time;
    process->next = hart->sleeping;
    hart->sleeping = process;
}

// Ends the current process. The status is that of `exit`, or 128 plus a signal.
void process_end(struct hart *hart, long status)
{
    struct process *process = hart->current;
    struct program *program = process->program;
    leave(hart);
    files_close(process);
    lock(&process->lock);
    __atomic_store_n(&process->state, PROCESS_ENDED, __ATOMIC_RELEASE);
    unlock(&process->lock);
    if (process->device_cores)
        device_end(hart, process);
    lock(&process->lock);
    space_destroy(hart, process);
    unlock(&process->lock);
    host_call(HOST_ENDED, program->number, process->rank, (uint64_t)status, 0);
    static uint32_t worst;
    if (status)
        __atomic_compare_exchange_n(&worst, &(uint32_t){0}, (uint32_t)status, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&program->running, 1, __ATOMIC_ACQ_REL);
    uint32_t running = 0;
    for (uint64_t i = 0; i < handover->programs; i++)
        running += __atomic_load_n(&programs[i].running, __ATOMIC_ACQUIRE);
    if (!running)
        host_call(HOST_EXIT, __atomic_load_n(&worst, __ATOMIC_RELAXED), 0, 0, 0);
}

// Ends the current process by a signal, and with it all processes of its program.
void process_stop(struct hart *hart, unsigned signal)
{
    struct program *program = hart->current->program;
    __atomic_store_n(&program->killed, 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    process_end(hart, 128 + (long)signal);
    for (uint64_t i = 0; i < handover->harts; i++)
        if (i != hart->number)
            host_call(HOST_INTERRUPT, i, 0, 0, 0);
}
