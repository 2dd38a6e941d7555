// SPDX-License-Identifier: Apache-2.0 OR MIT
// System calls of Linux: those that static programs of glibc and newlib use.

#include "calls.h"
#include "kernel.h"

enum {
    CALL_SCHED_YIELD = 124,
    CALL_EXIT = 93,
    CALL_EXIT_GROUP = 94,
    CALL_SET_TID_ADDRESS = 96,
    CALL_FUTEX = 98,
    CALL_SET_ROBUST_LIST = 99,
    CALL_NANOSLEEP = 101,
    CALL_CLOCK_GETTIME = 113,
    CALL_CLOCK_GETRES = 114,
    CALL_CLOCK_NANOSLEEP = 115,
    CALL_SCHED_GETAFFINITY = 123,
    CALL_KILL = 129,
    CALL_TKILL = 130,
    CALL_TGKILL = 131,
    CALL_SIGALTSTACK = 132,
    CALL_RT_SIGACTION = 134,
    CALL_RT_SIGPROCMASK = 135,
    CALL_TIMES = 153,
    CALL_UNAME = 160,
    CALL_GETRUSAGE = 165,
    CALL_GETCPU = 168,
    CALL_GETTIMEOFDAY = 169,
    CALL_GETPID = 172,
    CALL_GETPPID = 173,
    CALL_GETUID = 174,
    CALL_GETEUID = 175,
    CALL_GETGID = 176,
    CALL_GETEGID = 177,
    CALL_GETTID = 178,
    CALL_SYSINFO = 179,
    CALL_BRK = 214,
    CALL_MUNMAP = 215,
    CALL_MREMAP = 216,
    CALL_MMAP = 222,
    CALL_MPROTECT = 226,
    CALL_MADVISE = 233,
    CALL_RISCV_HWPROBE = 258,
    CALL_PRLIMIT64 = 261,
    CALL_GETRANDOM = 278,
    CALL_RSEQ = 293,

    NANOSECONDS = 1000000000,
    FUTEX_COMMAND = 127,
    FUTEX_WAIT = 0,
    FUTEX_WAIT_BITSET = 9,
    TIMER_ABSTIME = 1,
    RLIMIT_STACK = 3,
    MAP_FIXED = 16,
    MAP_ANONYMOUS = 32,
    MAP_FIXED_NOREPLACE = 0x100000,
    MREMAP_MAYMOVE = 1,
};

struct timespec {
    uint64_t seconds, nanoseconds;
};

static struct timespec now(void)
{
    uint64_t time = csr_read("time"), frequency = handover->frequency;
    uint64_t rest = time % frequency;
    // rest < frequency: the product fits for frequencies below 18 GHz.
    return (struct timespec){time / frequency, rest * NANOSECONDS / frequency};
}

// Rounds up, so that nobody wakes early.
static uint64_t ticks(struct timespec interval)
{
    uint64_t part = (interval.nanoseconds * handover->frequency + NANOSECONDS - 1) / NANOSECONDS;
    return interval.seconds * handover->frequency + part;
}

static long nanosleep(struct hart *hart, struct process *process, uint64_t address, int absolute)
{
    struct timespec interval;
    int error = copy_in(hart, process, &interval, address, sizeof interval);
    if (error)
        return error;
    if (interval.nanoseconds >= NANOSECONDS || interval.seconds > 1u << 30)
        return -EINVAL;
    process->frame.x[A0] = 0;
    sleep_until(hart, ticks(interval) + (absolute ? 0 : csr_read("time")));
    return 0;
}

// No process waits for another in the kernel: a waiting one yields, and finds out in user mode
// whether to wait again. Linux allows this return (spurious wake-up).
static long futex(struct hart *hart, struct process *process, const uint64_t *a)
{
    uint64_t command = a[1] & FUTEX_COMMAND;
    if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET)
        return 0;
    uint32_t value;
    int error = copy_in(hart, process, &value, a[0], sizeof value);
    if (error)
        return error;
    if (value != (uint32_t)a[2])
        return -EAGAIN;
    process->frame.x[A0] = 0;
    yield(hart);
    return 0;
}

static long uname(struct hart *hart, struct process *process, uint64_t address)
{
    static const char *const fields[6] = {"Linux", "matchbench", "6.1.0", "#1", "riscv64", ""};
    enum { FIELD = 65 };
    char text[6 * FIELD];
    memset(text, 0, sizeof text);
    for (unsigned i = 0; i < 6; i++)
        for (unsigned j = 0; fields[i][j]; j++)
            text[i * FIELD + j] = fields[i][j];
    return copy_out(hart, process, address, text, sizeof text);
}

static long getrandom(struct hart *hart, struct process *process, uint64_t address, uint64_t bytes)
{
    if (bytes > 1u << 20)
        bytes = 1u << 20;
    for (uint64_t done = 0; done < bytes; done += 8) {
        uint64_t value = (uint64_t)host_call(HOST_RANDOM, 0, 0, 0, 0);
        int error = copy_out(hart, process, address + done, &value, bytes - done < 8 ? bytes - done : 8);
        if (error)
            return error;
    }
    return (long)bytes;
}

static long set_break(struct hart *hart, struct process *process, uint64_t address)
{
    uint64_t old_end = page_up(process->break_end), new_end = page_up(address);
    if (address < process->break_start || new_end > MAP_TOP / 2)
        return (long)process->break_end;
    lock(&process->lock);
    int error = 0;
    if (new_end > old_end) {
        struct area *below = area_find(process, old_end - 1);
        if (!area_is_free(process, old_end, new_end))
            error = -ENOMEM;
        else if (below && below->kind == AREA_ZERO && old_end > process->break_start)
            below->end = new_end;
        else
            error = area_add(process, (struct area){.start = old_end, .end = new_end, .rights = PTE_READ | PTE_WRITE});
    } else if (new_end < old_end) {
        error = area_remove(hart, process, new_end, old_end);
    }
    if (!error)
        process->break_end = address;
    unlock(&process->lock);
    return (long)process->break_end;
}

static uint32_t rights_of(uint64_t protection)
{
    uint32_t rights = 0;
    if (protection & 1)
        rights |= PTE_READ;
    if (protection & 2)
        rights |= PTE_READ | PTE_WRITE;
    if (protection & 4)
        rights |= PTE_EXECUTE;
    return rights;
}

// Anonymous memory. Files are not mapped.
static long map(struct hart *hart, struct process *process, const uint64_t *a)
{
    uint64_t address = a[0], bytes = page_up(a[1]), flags = a[3];
    if (!(flags & MAP_ANONYMOUS))
        return -ENODEV;
    if (bytes == 0 || bytes > MAP_TOP / 4)
        return bytes ? -ENOMEM : -EINVAL;
    int fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
    if (fixed && (address % PAGE_BYTES || address >= MAP_TOP || MAP_TOP - address < bytes))
        return -EINVAL;
    if (fixed && flags & MAP_FIXED) {
        int error = area_remove(hart, process, address, address + bytes);
        if (error)
            return error;
    }
    if (!fixed) {
        // The highest free place.
        address = MAP_TOP - bytes;
        for (unsigned i = process->areas; i-- > 0;) {
            const struct area *area = &process->area[i];
            if (area->start < address + bytes && address < area->end)
                address = area->start - bytes;
        }
        if (address < process->break_end || address > MAP_TOP)
            return -ENOMEM;
    }
    struct area area = {.start = address, .end = address + bytes, .rights = rights_of(a[2])};
    int error = area_add(process, area);
    return error ? (error == -EINVAL ? -ENOMEM : error) : (long)address;
}

long memory_call(struct hart *hart, struct process *process, const uint64_t *a, uint64_t number)
{
    long result;
    lock(&process->lock);
    uint64_t end = a[0] + page_up(a[1]);
    if (number == CALL_MMAP)
        result = map(hart, process, a);
    else if (a[0] % PAGE_BYTES || end <= a[0] || end > MAP_TOP)
        result = -EINVAL;
    else if (number == CALL_MUNMAP)
        result = area_remove(hart, process, a[0], end);
    else
        result = area_protect(hart, process, a[0], end, rights_of(a[2]));
    unlock(&process->lock);
    return result;
}

static long limits(struct hart *hart, struct process *process, const uint64_t *a)
{
    uint64_t limit[2] = {~0ul, ~0ul};
    if (a[1] == RLIMIT_STACK)
        limit[0] = limit[1] = STACK_BYTES;
    return a[3] ? copy_out(hart, process, a[3], limit, sizeof limit) : 0;
}

static long linux_call(struct hart *hart, struct process *process, const uint64_t *a, uint64_t number)
{
    switch (number) {
    case CALL_EXIT:
    case CALL_EXIT_GROUP:
        process_end(hart, (long)(a[0] & 255));
        return 0;
    case CALL_KILL:
    case CALL_TKILL:
    case CALL_TGKILL: {
        // abort and raise. Nobody handles signals, so each ends the process.
        uint64_t signal = number == CALL_TGKILL ? a[2] : a[1];
        if (number != CALL_TGKILL && a[0] != process->pid)
            return -ESRCH;
        if (signal == 0)
            return 0;
        complain(hart, process->frame.pc, "signal %u", signal);
        process_stop(hart, (unsigned)signal & 127);
        return 0;
    }
    case CALL_SCHED_YIELD:
        process->frame.x[A0] = 0;
        yield(hart);
        return 0;
    case CALL_FUTEX:
        return futex(hart, process, a);
    case CALL_NANOSLEEP:
        return nanosleep(hart, process, a[0], 0);
    case CALL_CLOCK_NANOSLEEP:
        return nanosleep(hart, process, a[2], (int)a[1] & TIMER_ABSTIME);
    case CALL_CLOCK_GETTIME: {
        struct timespec time = now();
        return copy_out(hart, process, a[1], &time, sizeof time);
    }
    case CALL_CLOCK_GETRES: {
        struct timespec unit = {0, handover->frequency < NANOSECONDS ? NANOSECONDS / handover->frequency : 1};
        return a[1] ? copy_out(hart, process, a[1], &unit, sizeof unit) : 0;
    }
    case CALL_GETTIMEOFDAY: {
        struct timespec time = now();
        time.nanoseconds /= 1000;
        return copy_out(hart, process, a[0], &time, sizeof time);
    }
    case CALL_TIMES: {
        // Units of 1/100 s, all of it user time.
        uint64_t time = csr_read("time") / (handover->frequency / 100), times[4] = {time, 0, 0, 0};
        int error = a[0] ? copy_out(hart, process, a[0], times, sizeof times) : 0;
        return error ? error : (long)time;
    }
    case CALL_GETRUSAGE: {
        uint64_t usage[18];
        clear(usage, sizeof usage);
        struct timespec time = now();
        usage[0] = time.seconds;
        usage[1] = time.nanoseconds / 1000;
        return copy_out(hart, process, a[1], usage, sizeof usage);
    }
    case CALL_UNAME:
        return uname(hart, process, a[0]);
    case CALL_SYSINFO: {
        // struct sysinfo of Linux: what is free is not counted.
        struct {
            uint64_t uptime, loads[3], total, free, rest[4];
            uint16_t processes, padding[3];
            uint64_t high[2];
            uint32_t unit, end;
        } info;
        clear(&info, sizeof info);
        info.uptime = now().seconds;
        info.total = info.free = handover->memory_bytes;
        info.processes = (uint16_t)process->program->ranks;
        info.unit = 1;
        return copy_out(hart, process, a[0], &info, sizeof info);
    }
    case CALL_GETCPU: {
        uint32_t core = (uint32_t)hart->number, node = 0;
        int error = a[0] ? copy_out(hart, process, a[0], &core, sizeof core) : 0;
        return error || !a[1] ? error : copy_out(hart, process, a[1], &node, sizeof node);
    }
    case CALL_SCHED_GETAFFINITY: {
        uint64_t mask = 1ul << hart->number;
        if (a[1] < sizeof mask)
            return -EINVAL;
        int error = copy_out(hart, process, a[2], &mask, sizeof mask);
        return error ? error : (long)sizeof mask;
    }
    case CALL_GETPID:
    case CALL_GETTID:
    case CALL_SET_TID_ADDRESS:
        return (long)process->pid;
    case CALL_GETPPID:
    case CALL_GETUID:
    case CALL_GETEUID:
    case CALL_GETGID:
    case CALL_GETEGID:
    // No signal is ever delivered to a handler, and advice changes nothing.
    case CALL_RT_SIGACTION:
    case CALL_RT_SIGPROCMASK:
    case CALL_SIGALTSTACK:
    case CALL_SET_ROBUST_LIST:
    case CALL_MADVISE:
        return 0;
    case CALL_BRK:
        return set_break(hart, process, a[0]);
    case CALL_MMAP:
    case CALL_MUNMAP:
    case CALL_MPROTECT:
        return memory_call(hart, process, a, number);
    case CALL_PRLIMIT64:
        return limits(hart, process, a);
    case CALL_GETRANDOM:
        return getrandom(hart, process, a[0], a[1]);
    // C libraries ask for these and do without.
    case CALL_MREMAP:
    case CALL_RISCV_HWPROBE:
    case CALL_RSEQ:
        return -ENOSYS;
    default:
        break;
    }
    return file_call(hart, process, a, number);
}

void system_call(struct hart *hart)
{
    struct process *process = hart->current;
    const uint64_t *a = &process->frame.x[A0];
    uint64_t number = process->frame.x[A7];
    long result = number - MB_CALL_BASE <= MB_CALL_REPORT - MB_CALL_BASE ? own_call(hart, process, a, number)
                                                                       : linux_call(hart, process, a, number);
    // A call that left the hart has set its result before.
    if (hart->current == process)
        process->frame.x[A0] = (uint64_t)result;
}
