// SPDX-License-Identifier: Apache-2.0 OR MIT
// Traps from user mode.

#include "kernel.h"

enum {
    CAUSE_FETCH_ACCESS = 1,
    CAUSE_ILLEGAL = 2,
    CAUSE_BREAKPOINT = 3,
    CAUSE_LOAD_MISALIGNED = 4,
    CAUSE_LOAD_ACCESS = 5,
    CAUSE_STORE_MISALIGNED = 6,
    CAUSE_STORE_ACCESS = 7,
    CAUSE_CALL = 8,
    CAUSE_FETCH_PAGE = 12,
    CAUSE_LOAD_PAGE = 13,
    CAUSE_STORE_PAGE = 15,
    CAUSES = 16,
};

static const char *const names[CAUSES] = {
    [CAUSE_FETCH_ACCESS] = "fetch outside of memory",
    [CAUSE_ILLEGAL] = "illegal instruction",
    [CAUSE_BREAKPOINT] = "breakpoint",
    [CAUSE_LOAD_MISALIGNED] = "misaligned load-reserved",
    [CAUSE_LOAD_ACCESS] = "load outside of memory",
    [CAUSE_STORE_MISALIGNED] = "misaligned atomic",
    [CAUSE_STORE_ACCESS] = "store outside of memory",
    [CAUSE_FETCH_PAGE] = "fetch from a page without right to execute",
    [CAUSE_LOAD_PAGE] = "load from a page without right to read",
    [CAUSE_STORE_PAGE] = "store to a page without right to write",
};

// Names the fault of the current process on the console, and ends its program.
static void stop(struct hart *hart, uint64_t cause, uint64_t value, unsigned signal, const char *more)
{
    struct process *process = hart->current;
    const char *name = cause < CAUSES && names[cause] ? names[cause] : "unknown trap";
    complain(hart, process->frame.pc, "%s, address %x%s", name, value, more);
    process_stop(hart, signal);
}

static void page_fault(struct hart *hart, uint64_t cause, uint64_t value)
{
    struct process *process = hart->current;
    uint32_t right = cause == CAUSE_FETCH_PAGE ? PTE_EXECUTE : cause == CAUSE_LOAD_PAGE ? PTE_READ : PTE_WRITE;
    int error = value < USER_TOP ? page_in(hart, process, value, right, NULL) : -EFAULT;
    if (!error)
        return;
    const char *more = "";
    if (error == -ENOMEM)
        more = ": no free memory";
    else if (value >= USER_TOP)
        more = ": outside of the user's address space";
    else if (!area_find(process, value))
        more = ": nothing is mapped there";
    stop(hart, cause, value, SIGSEGV, more);
}

struct frame *trap_handle(struct hart *hart)
{
    uint64_t cause = csr_read("scause"), value = csr_read("stval");
    struct process *process = hart->current;
    if (cause >> 63) {
        // Timer: the others of this hart get their turn. Everything else is work of `schedule`.
        if ((cause & 63) == 5)
            yield(hart);
        return schedule(hart);
    }
    switch (cause) {
    case CAUSE_CALL:
        process->frame.pc += 4;
        system_call(hart);
        break;
    case CAUSE_FETCH_PAGE:
    case CAUSE_LOAD_PAGE:
    case CAUSE_STORE_PAGE:
        page_fault(hart, cause, value);
        break;
    case CAUSE_ILLEGAL:
        stop(hart, cause, value, SIGILL, "");
        break;
    case CAUSE_BREAKPOINT:
        stop(hart, cause, value, SIGTRAP, "");
        break;
    default:
        stop(hart, cause, value, SIGBUS, "");
        break;
    }
    // The usual case: the same process goes on.
    if (hart->current == process && !__atomic_load_n(&process->program->killed, __ATOMIC_RELAXED))
        return &process->frame;
    return schedule(hart);
}

// The registers are those of the kernel; sscratch is 0 again.
void trap_in_kernel(void) __attribute__((noreturn));

void trap_in_kernel(void)
{
    struct hart *hart;
    __asm__ volatile("mv %0, tp" : "=r"(hart));
    print(hart, "kernel: trap in the kernel: cause %x, address %x, pc %x\n", csr_read("scause"), csr_read("stval"),
          csr_read("sepc"));
    panic(hart, "stopped");
}
