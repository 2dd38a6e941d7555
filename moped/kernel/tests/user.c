// SPDX-License-Identifier: Apache-2.0 OR MIT
// A user program for the tests of the kernel. Its first argument names what it does.

#include "calls.h"
#include <stddef.h>

extern uint32_t _start[];

enum {
    CALL_UNLINKAT = 35,
    CALL_OPENAT = 56,
    CALL_CLOSE = 57,
    CALL_LSEEK = 62,
    CALL_READ = 63,
    CALL_WRITE = 64,
    CALL_FSTAT = 80,
    CALL_EXIT = 93,
    CALL_NANOSLEEP = 101,
    CALL_CLOCK_GETTIME = 113,
    CALL_SCHED_YIELD = 124,
    CALL_GETPID = 172,
    CALL_BRK = 214,
    CALL_MUNMAP = 215,
    CALL_MMAP = 222,
    CALL_MPROTECT = 226,
    // newlib's.
    CALL_OPEN = 1024,
    CALL_UNLINK = 1026,
    PAGE = 4096,
};

static long call(long number, long a, long b, long c, long d)
{
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = -1;
    register long a5 __asm__("a5") = 0;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

static size_t length_of(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

static int same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static void exit(long status)
{
    call(CALL_EXIT, status, 0, 0, 0);
}

// Ends with the number of the line: the test shows it.
#define CHECK(condition) \
    do {                 \
        if (!(condition)) \
            exit(__LINE__ % 251 + 1); \
    } while (0)

static char line[256];
static size_t used;

static void put(const char *text)
{
    for (size_t i = 0; i < length_of(text); i++)
        line[used++] = text[i];
}

static void put_number(uint64_t value)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count)
        line[used++] = digits[--count];
}

static void end_line(void)
{
    line[used++] = '\n';
    call(CALL_WRITE, 1, (long)line, (long)used, 0);
    used = 0;
}

static uint64_t number_of(const char *text)
{
    uint64_t value = 0;
    while (*text >= '0' && *text <= '9')
        value = value * 10 + (uint64_t)(*text++ - '0');
    return value;
}

static void *map(uint64_t bytes, long rights)
{
    return (void *)call(CALL_MMAP, 0, (long)bytes, rights, 0x22);
}

static int hello(int argc, char **argv)
{
    put("rank ");
    put_number((uint64_t)mb_rank());
    put(" of ");
    put_number((uint64_t)mb_size());
    for (int i = 2; i < argc; i++) {
        put(" ");
        put(argv[i]);
    }
    for (char **variable = argv + argc + 1; *variable; variable++) {
        put(" ");
        put(*variable);
    }
    end_line();
    return 0;
}

// brk, mmap, mprotect and munmap, with contents checked at each step.
static int memory(void)
{
    uint8_t *start = (uint8_t *)call(CALL_BRK, 0, 0, 0, 0);
    CHECK(call(CALL_BRK, (long)start + 100 * PAGE, 0, 0, 0) == (long)start + 100 * PAGE);
    for (int i = 0; i < 100; i++) {
        CHECK(start[i * PAGE + i] == 0);
        start[i * PAGE + i] = (uint8_t)(i + 1);
    }
    CHECK(call(CALL_BRK, (long)start + 50 * PAGE, 0, 0, 0) == (long)start + 50 * PAGE);
    CHECK(call(CALL_BRK, (long)start + 100 * PAGE, 0, 0, 0) == (long)start + 100 * PAGE);
    for (int i = 0; i < 100; i++)
        CHECK(start[i * PAGE + i] == (i < 50 ? i + 1 : 0));
    uint8_t *mapped = map(64 * PAGE, 3);
    CHECK((long)mapped > 0);
    for (int i = 0; i < 64; i++) {
        CHECK(mapped[i * PAGE] == 0);
        mapped[i * PAGE] = (uint8_t)i;
    }
    // A hole in the middle; the pages that come back are zero.
    CHECK(call(CALL_MUNMAP, (long)mapped + 16 * PAGE, 16 * PAGE, 0, 0) == 0);
    CHECK(mb_fault_in(mapped + 16 * PAGE, 1) == -MB_EFAULT);
    CHECK(mapped[15 * PAGE] == 15 && mapped[32 * PAGE] == 32);
    CHECK(call(CALL_MPROTECT, (long)mapped, 16 * PAGE, 1, 0) == 0);
    CHECK(mapped[7 * PAGE] == 7);
    CHECK(call(CALL_MPROTECT, (long)mapped, 16 * PAGE, 3, 0) == 0);
    mapped[7 * PAGE] = 70;
    CHECK(mapped[7 * PAGE] == 70 && mapped[8 * PAGE] == 8);
    uint8_t *again = map(16 * PAGE, 3);
    CHECK(again == mapped + 16 * PAGE && again[PAGE] == 0);
    CHECK(call(CALL_MUNMAP, (long)mapped, 64 * PAGE, 0, 0) == 0);
    // Accesses across pages.
    uint8_t *pair = map(2 * PAGE, 3);
    *(volatile uint64_t *)(void *)(pair + PAGE - 3) = 0x1122334455667788u;
    CHECK(pair[PAGE - 1] == 0x66 && pair[PAGE] == 0x55);
    CHECK(*(volatile uint64_t *)(void *)(pair + PAGE - 3) == 0x1122334455667788u);
    // Much more than there is memory, if all of it stayed: pages come back.
    for (int round = 0; round < 40; round++) {
        uint8_t *block = map(256 * PAGE, 3);
        CHECK((long)block > 0);
        for (int i = 0; i < 256; i++)
            block[i * PAGE] = 1;
        CHECK(call(CALL_MUNMAP, (long)block, 256 * PAGE, 0, 0) == 0);
    }
    return 0;
}

struct ring {
    uint32_t token __attribute__((aligned(64)));
    uint32_t sum __attribute__((aligned(64)));
};

// A token passes through all ranks; each adds its number with an atomic.
static int ring(uint64_t rounds, int yields)
{
    struct ring *ring = mb_shared(sizeof *ring);
    CHECK((long)ring > 0);
    uint32_t rank = (uint32_t)mb_rank(), size = (uint32_t)mb_size();
    for (uint32_t turn = rank; turn < rounds * size; turn += size) {
        while (__atomic_load_n(&ring->token, __ATOMIC_ACQUIRE) != turn) {
            if (yields)
                call(CALL_SCHED_YIELD, 0, 0, 0, 0);
            else
                __asm__ volatile(".word 0x0100000f");
        }
        __atomic_fetch_add(&ring->sum, rank, __ATOMIC_RELAXED);
        __atomic_store_n(&ring->token, turn + 1, __ATOMIC_RELEASE);
    }
    if (rank == size - 1) {
        CHECK(ring->sum == rounds * size * (size - 1) / 2);
        put("sum ");
        put_number(ring->sum);
        end_line();
    }
    CHECK((long)mb_shared(1u << 30) == -MB_EINVAL);
    return 0;
}

// General and floating-point registers survive interrupts while others run with their own values.
static int registers(uint64_t rounds)
{
    uint64_t mine = 0x9e3779b97f4a7c15u * (uint64_t)(call(CALL_GETPID, 0, 0, 0, 0) + 1), sum = 0;
    __asm__ volatile(".option push\n.option arch, +d\nfmv.d.x fs0, %0\nfmv.d.x ft11, %1\nfsrmi 2\n.option pop"
                     :
                     : "r"(mine), "r"(~mine));
    for (uint64_t i = 0; i < rounds; i++) {
        sum += i ^ mine;
        uint64_t saved, temporary, rounding;
        __asm__ volatile(
            ".option push\n.option arch, +d\nfmv.x.d %0, fs0\nfmv.x.d %1, ft11\nfrrm %2\n.option pop"
            : "=r"(saved), "=r"(temporary), "=r"(rounding));
        CHECK(saved == mine && temporary == ~mine && rounding == 2);
    }
    return sum == 0;
}

static int files(void)
{
    static const char path[] = "/data";
    char buffer[64];
    uint64_t status[16];
    CHECK(call(CALL_OPENAT, -100, (long)path, 0, 0) == -2);
    long file = call(CALL_OPENAT, -100, (long)path, 0102, 0644);
    CHECK(file == 3);
    for (int i = 0; i < 300; i++)
        CHECK(call(CALL_WRITE, file, (long)"0123456789abcdefghijklmnopqrstuv", 32, 0) == 32);
    CHECK(call(CALL_LSEEK, file, 32 * 299, 0, 0) == 32 * 299);
    CHECK(call(CALL_READ, file, (long)buffer, 64, 0) == 32 && buffer[31] == 'v');
    CHECK(call(CALL_READ, file, (long)buffer, 64, 0) == 0);
    CHECK(call(CALL_FSTAT, file, (long)status, 0, 0) == 0 && status[6] == 9600);
    uint8_t *large = map(3 * PAGE, 3);
    CHECK(call(CALL_LSEEK, file, 0, 0, 0) == 0);
    CHECK(call(CALL_READ, file, (long)large + 5, 9600, 0) == 9600 && large[9604] == 'v' && large[9605] == 0);
    CHECK(call(CALL_READ, file, 0x1000, 8, 0) == -14);
    CHECK(call(CALL_CLOSE, file, 0, 0, 0) == 0 && call(CALL_CLOSE, file, 0, 0, 0) == -9);
    CHECK(call(CALL_UNLINKAT, -100, (long)path, 0, 0) == 0 && call(CALL_UNLINKAT, -100, (long)path, 0, 0) == -2);
    // newlib has other flags: write only, create, truncate, exclusive; then append.
    CHECK(call(CALL_OPEN, (long)path, 1, 0644, 0) == -2);
    CHECK((file = call(CALL_OPEN, (long)path, 0xe01, 0644, 0)) == 3);
    CHECK(call(CALL_WRITE, file, (long)"abc", 3, 0) == 3 && call(CALL_CLOSE, file, 0, 0, 0) == 0);
    CHECK(call(CALL_OPEN, (long)path, 0xe01, 0644, 0) == -17);
    CHECK((file = call(CALL_OPEN, (long)path, 0xa, 0, 0)) == 3);
    CHECK(call(CALL_WRITE, file, (long)"de", 2, 0) == 2);
    CHECK(call(CALL_FSTAT, file, (long)status, 0, 0) == 0 && status[6] == 5);
    CHECK(call(CALL_CLOSE, file, 0, 0, 0) == 0 && call(CALL_UNLINK, (long)path, 0, 0, 0) == 0);
    return 0;
}

static int sleep(uint64_t nanoseconds)
{
    uint64_t interval[2] = {0, nanoseconds}, before[2], after[2];
    CHECK(call(CALL_CLOCK_GETTIME, 1, (long)before, 0, 0) == 0);
    CHECK(call(CALL_NANOSLEEP, (long)interval, 0, 0, 0) == 0);
    CHECK(call(CALL_CLOCK_GETTIME, 1, (long)after, 0, 0) == 0);
    CHECK((after[0] - before[0]) * 1000000000 + after[1] - before[1] >= nanoseconds);
    return 0;
}

static int move(uint64_t cores)
{
    for (uint64_t i = 0; i < 3 * cores; i++) {
        CHECK(mb_move((long)(i % cores)) == 0);
        CHECK((uint64_t)mb_core() == i % cores);
    }
    CHECK(mb_move((long)cores) == -MB_EINVAL);
    return 0;
}

// An access to the port page, then everything that the kernel has to tell the device.
static int device(uint64_t cores)
{
    volatile uint64_t *ports = mb_ports();
    CHECK((long)ports > 0 && mb_ports() == ports);
    ports[mb_rank()] = 1;
    return memory() || move(cores);
}

// What a hostile or wrong program does; the kernel must stop it there.
static int hostile(const char *what)
{
    // The other rank has a mapping here and waits; this one must not see it.
    if (same(what, "other")) {
        struct ring *ring = mb_shared(sizeof *ring);
        if (mb_rank() == 0) {
            uint64_t *own = (uint64_t *)call(CALL_MMAP, 0x10000000, PAGE, 3, 0x32);
            *own = 42;
            __atomic_store_n(&ring->token, 1, __ATOMIC_RELEASE);
            for (;;)
                call(CALL_SCHED_YIELD, 0, 0, 0, 0);
        }
        while (!__atomic_load_n(&ring->token, __ATOMIC_ACQUIRE))
            call(CALL_SCHED_YIELD, 0, 0, 0, 0);
        return (int)*(volatile uint64_t *)0x10000000;
    }
    if (same(what, "kernel"))
        return *(volatile int *)0xffffffc080200000;
    if (same(what, "kernel_write"))
        *(volatile uint64_t *)0xffffffc080200000 = 0;
    if (same(what, "kernel_jump"))
        ((void (*)(void))0xffffffc080000000)();
    if (same(what, "device"))
        return *(volatile int *)0x3000000000;
    if (same(what, "physical"))
        return *(volatile int *)0x80200000;
    if (same(what, "null"))
        *(volatile int *)0 = 1;
    if (same(what, "text"))
        *(volatile uint32_t *)(uintptr_t)_start = 0;
    if (same(what, "execute"))
        ((void (*)(void))(uintptr_t)line)();
    if (same(what, "illegal"))
        __asm__ volatile(".word 0xffffffff");
    if (same(what, "breakpoint"))
        __asm__ volatile("ebreak");
    if (same(what, "csr"))
        __asm__ volatile("csrr t0, satp" : : : "t0");
    if (same(what, "sret"))
        __asm__ volatile("sret");
    if (same(what, "fence"))
        __asm__ volatile("sfence.vma");
    if (same(what, "wait"))
        __asm__ volatile("wfi");
    if (same(what, "misaligned"))
        __asm__ volatile("amoadd.w t0, t0, (%0)" : : "r"(line + 1) : "t0", "memory");
    if (same(what, "buffer"))
        return call(CALL_WRITE, 1, (long)0xffffffc080200000, 8, 0) == -14 ? 14 : 0;
    return 0;
}

static int count(uint64_t rounds)
{
    for (volatile uint64_t i = 0; i < rounds; i++)
        ;
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "hello";
    uint64_t value = argc > 2 ? number_of(argv[2]) : 0;
    if (same(what, "hello"))
        return hello(argc, argv);
    if (same(what, "memory"))
        return memory();
    if (same(what, "ring"))
        return ring(value, 0);
    if (same(what, "ring_yield"))
        return ring(value, 1);
    if (same(what, "registers"))
        return registers(value);
    if (same(what, "files"))
        return files();
    if (same(what, "sleep"))
        return sleep(value);
    if (same(what, "with_device"))
        return device(value);
    if (same(what, "move"))
        return move(value);
    if (same(what, "hostile"))
        return hostile(argv[2]);
    if (same(what, "count"))
        return count(value);
    if (same(what, "calls")) {
        for (uint64_t i = 0; i < value; i++)
            mb_rank();
        return 0;
    }
    if (same(what, "touch")) {
        uint8_t *pages = map(value * PAGE, 3);
        for (uint64_t i = 0; i < value; i++)
            pages[i * PAGE] = 1;
        return 0;
    }
    if (same(what, "mark"))
        return (int)mb_mark((long)value);
    if (same(what, "exit"))
        return (int)value;
    return 200;
}
