// SPDX-License-Identifier: Apache-2.0 OR MIT
// The structures of the kernel and what its files offer each other.
//
// The kernel is not preemptible: interrupts are disabled in supervisor mode, and a trap there is a
// bug. Each hart has one kernel stack. A process that waits has no kernel stack: the system call
// sets its result and leaves the hart, and `schedule` chooses another process.
//
// Locks are taken in this order: process, program, hart, pages.

#ifndef MB_KERNEL_H
#define MB_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "host.h"

// Physical address p is at DIRECT + p in every address space.
#define DIRECT 0xffffffc000000000u

// The user half of the address space.
#define USER_TOP 0x4000000000u
#define STACK_TOP (USER_TOP - 0x10000u)
#define STACK_BYTES (8u << 20)
#define MAP_TOP 0x3000000000u // private mappings grow down from here
#define SHARED_BASE 0x3100000000u
#define SHARED_LIMIT ((uint64_t)SHARED_GIB << 30)
#define PORTS_BASE 0x3000000000u

enum {
    HART_STACK_BYTES = 16384,
    MOST_AREAS = 48,
    MOST_FILES = 64,
    PAGE_CACHE = 64, // pages that a hart keeps
    PAGE_BATCH = 32, // pages that a hart takes from or gives to all harts at once
    SHARED_GIB = 8,  // of a shared segment: 264 KB for each pair of 180 ranks
};

// Error numbers of Linux.
enum {
    ENOENT = 2,
    ESRCH = 3,
    EIO = 5,
    ENOEXEC = 8,
    EBADF = 9,
    EAGAIN = 11,
    ENOMEM = 12,
    EFAULT = 14,
    ENODEV = 19,
    EINVAL = 22,
    EMFILE = 24,
    ENOTTY = 25,
    ERANGE = 34,
    ENAMETOOLONG = 36,
    ENOSYS = 38,
};

// Signals of Linux that end a process.
enum { SIGILL = 4, SIGTRAP = 5, SIGKILL = 9, SIGBUS = 7, SIGSEGV = 11 };

typedef struct {
    uint32_t held;
} lock_t;

// Registers of a process; start.S knows the layout.
struct frame {
    uint64_t x[32]; // x[0] is not used
    uint64_t pc;
    uint64_t status; // sstatus
    uint64_t f[32];
    uint64_t fcsr;
};

enum { RA = 1, SP = 2, A0 = 10, A1, A2, A3, A4, A5, A6, A7 };

// Rights of an area, as bits of a page-table entry.
enum {
    PTE_VALID = 1,
    PTE_READ = 2,
    PTE_WRITE = 4,
    PTE_EXECUTE = 8,
    PTE_USER = 16,
    PTE_GLOBAL = 32,
    PTE_ACCESSED = 64,
    PTE_DIRTY = 128,
    PTE_OWNED = 256, // software: the page belongs to this address space
};

enum area_kind {
    AREA_ZERO,   // zeros at first
    AREA_IMAGE,  // bytes of the ELF file, then zeros
    AREA_SHARED, // the program's shared segment
    AREA_PORTS,  // the program's port page
};

struct area {
    uint64_t start, end; // multiples of PAGE_BYTES
    uint32_t kind;
    uint32_t rights;     // PTE_READ, PTE_WRITE, PTE_EXECUTE
    uint64_t file;       // AREA_IMAGE: address of the byte of the file at `start`
    uint64_t file_bytes; // and how many bytes follow; the rest is zeros
};

enum process_state { PROCESS_READY, PROCESS_ENDED };

struct program {
    lock_t lock;
    uint32_t number;
    uint32_t ranks;
    uint32_t running; // ranks that have not ended
    uint32_t killed;  // a rank was stopped: all others end too
    const struct handover_program *handover;
    struct process *process[AGENTS_PER_PROGRAM];
    uint64_t shared_bytes; // 0: no segment yet
    uint64_t **shared[SHARED_GIB]; // each: 512 tables of 512 physical pages; 0: none yet
    uint64_t unknown[8];   // bit n: a rank made the unknown system call n, and a message said so
};

struct process {
    struct frame frame;
    lock_t lock; // areas and page table
    uint32_t state;
    struct program *program;
    uint32_t rank;
    uint32_t pid; // also the address-space identifier
    uint64_t *root;
    struct hart *hart;      // whose queue it is in, or where it runs
    struct hart *last_hart; // where its translations may be in the TLBs
    struct process *next;   // in a queue
    uint64_t wake;          // time at which it becomes ready
    uint64_t device_cores;  // bit c: the process may have descriptors of the device of core c
    uint64_t break_start, break_end;
    uint64_t map_bottom; // lowest private mapping
    uint32_t areas;
    struct area area[MOST_AREAS];   // in order of addresses
    int32_t file[MOST_FILES];       // host's numbers, or -1
};

// start.S knows the offsets of the first four.
struct hart {
    struct frame *frame; // of the current process
    uint64_t stack;      // top of the kernel stack
    uint64_t saved;      // t0 of the process while the frame's address is loaded
    uint64_t dropped;    // for a store-conditional that only ends a reservation
    uint64_t number;
    struct process *current;
    lock_t lock; // the queue
    struct process *first, *last;
    struct process *sleeping;
    uint64_t cached; // pages in the cache
    uint64_t cache[PAGE_CACHE];
    uint8_t *buffer; // a page, for strings and structures that go to the host
};

extern struct hart harts[MOST_HARTS];
extern struct handover *handover;
extern struct program programs[MOST_PROGRAMS];
extern uint64_t kernel_root[];

// start.S
void trap_entry(void);
void resume(struct frame *frame) __attribute__((noreturn));
void float_save(struct frame *frame);
void float_restore(const struct frame *frame);

// pages.c: physical pages, by their addresses; 0: no memory.
void pages_start(void);
uint64_t page_take(struct hart *hart);
void page_give(struct hart *hart, uint64_t page);

// memory.c: address spaces.
int space_create(struct hart *hart, struct process *process);
void space_destroy(struct hart *hart, struct process *process);
int area_add(struct process *process, struct area area);
struct area *area_find(struct process *process, uint64_t address);
int area_remove(struct hart *hart, struct process *process, uint64_t start, uint64_t end);
int area_protect(struct hart *hart, struct process *process, uint64_t start, uint64_t end, uint32_t rights);
int area_is_free(const struct process *process, uint64_t start, uint64_t end);
// Maps the page of `address` for accesses with `right`, and stores the physical address that
// belongs to `address`; returns 0 or an error number.
int page_in(struct hart *hart, struct process *process, uint64_t address, uint32_t right, uint64_t *physical);
int copy_in(struct hart *hart, struct process *process, void *to, uint64_t from, uint64_t bytes);
int copy_out(struct hart *hart, struct process *process, uint64_t to, const void *from, uint64_t bytes);
// A string with its final zero, at most PAGE_BYTES; returns its length or a negative error number.
long copy_in_string(struct hart *hart, struct process *process, char *to, uint64_t from);

// program.c
void programs_start(struct hart *hart);

// schedule.c
void queue_add(struct hart *hart, struct process *process);
void leave(struct hart *hart);
struct frame *schedule(struct hart *hart);
void sleep_until(struct hart *hart, uint64_t time);
void yield(struct hart *hart);
void arm_timer(struct hart *hart);
void process_end(struct hart *hart, long status);
void process_stop(struct hart *hart, unsigned signal);

// call.c, file.c, own.c: system calls. The result goes to a0.
void system_call(struct hart *hart);
long file_call(struct hart *hart, struct process *process, const uint64_t *a, uint64_t number);
long memory_call(struct hart *hart, struct process *process, const uint64_t *a, uint64_t number);
long own_call(struct hart *hart, struct process *process, const uint64_t *a, uint64_t number);
void files_start(struct process *process);
void files_close(struct process *process);

// trap.c
struct frame *trap_handle(struct hart *hart);

// device.c: only if the machine has the device, except device_leave.
void device_fault(struct hart *hart);
void device_enter(struct hart *hart, struct process *process);
void device_leave(struct hart *hart, const struct process *process);
void device_unmap(struct hart *hart, uint64_t address);
void device_end(struct hart *hart, struct process *process);

// print.c: text for the console. %s, %u (unsigned long), %x (unsigned long).
void print(struct hart *hart, const char *format, ...);
// A message about the current process, which is at `pc`.
void complain(struct hart *hart, uint64_t pc, const char *format, ...);
void panic(struct hart *hart, const char *why) __attribute__((noreturn));

static inline long host_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    register uint64_t a0 __asm__("a0") = a;
    register uint64_t a1 __asm__("a1") = b;
    register uint64_t a2 __asm__("a2") = c;
    register uint64_t a3 __asm__("a3") = d;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a7) : "memory");
    return (long)a0;
}

static inline void *at(uint64_t physical)
{
    return (void *)(DIRECT + physical);
}

static inline uint64_t physical_of(const void *pointer)
{
    return (uint64_t)pointer - DIRECT;
}

static inline void lock(lock_t *lock)
{
    while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED))
            __asm__ volatile(".word 0x0100000f"); // pause
}

static inline void unlock(lock_t *lock)
{
    __atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#define csr_read(name)                                      \
    ({                                                      \
        uint64_t value_;                                    \
        __asm__ volatile("csrr %0, " name : "=r"(value_)); \
        value_;                                             \
    })
#define csr_write(name, value) __asm__ volatile("csrw " name ", %0" : : "r"(value) : "memory")
#define csr_clear(name, value) __asm__ volatile("csrc " name ", %0" : : "r"(value) : "memory")

#define STIMECMP "0x14d"

static inline void flush_page(uint64_t address, uint64_t asid)
{
    __asm__ volatile("sfence.vma %0, %1" : : "r"(address), "r"(asid) : "memory");
}

static inline void flush_space(uint64_t asid)
{
    __asm__ volatile("sfence.vma zero, %0" : : "r"(asid) : "memory");
}

static inline uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

// `bytes` is a multiple of 8.
static inline void clear(void *to, uint64_t bytes)
{
    uint64_t *words = to;
    for (uint64_t i = 0; i < bytes / 8; i++)
        words[i] = 0;
}

// Eight stores for each pass of the loop.
static inline void clear_page(void *page)
{
    uint64_t *words = page;
    for (unsigned i = 0; i < PAGE_BYTES / 8; i += 8) {
        words[i] = 0;
        words[i + 1] = 0;
        words[i + 2] = 0;
        words[i + 3] = 0;
        words[i + 4] = 0;
        words[i + 5] = 0;
        words[i + 6] = 0;
        words[i + 7] = 0;
    }
}

void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

#endif
