/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The recorder's system: Linux. Space is allocated with posix_fallocate, so that a full disk is an error code here
 * and never a SIGBUS in the application. A killed rank loses nothing it has written: the pages of a window belong to
 * the file, not to the process.
 */
#define _GNU_SOURCE
#include "system.h"

#include "tables.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Zeros written at a time. With larger pieces the kernel searches long for contiguous memory (measured on ext4,
 * Linux 6.18: 14 ns per record with 64 KiB, up to 180 with 128 KiB). */
enum { ZEROS_BYTES = 65536 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* the kernel's number; the C library may be older */
#endif

/* Pages that write(2) made are large, and mapping them costs half of what faulting them in one by one does. */
int mbr_system_space(int fd, off_t from, off_t bytes) {
    static const char zeros[ZEROS_BYTES];
    struct rlimit limit;
    int error;
    /* Beyond this limit the kernel would also end the program with SIGXFSZ. */
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && (uint64_t)(from + bytes) > limit.rlim_cur)
        return EFBIG;
    do
        error = posix_fallocate(fd, from, bytes);
    while (error == EINTR);
    while (!error && bytes > 0) {
        ssize_t wrote = pwrite(fd, zeros, bytes < ZEROS_BYTES ? (size_t)bytes : ZEROS_BYTES, from);
        if (wrote > 0)
            from += wrote, bytes -= wrote;
        else if (wrote == 0 || errno != EINTR)
            error = wrote == 0 ? ENOSPC : errno;
    }
    return error;
}

void *mbr_window_open(int fd, off_t from, size_t bytes) {
    void *view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
    if (view == MAP_FAILED)
        return NULL;
    madvise(view, bytes, MADV_POPULATE_WRITE); /* one call instead of a page fault every 64 records; since Linux 5.14, harmless before */
    return view;
}

void mbr_window_write(int fd, const void *window, off_t from, size_t bytes) { (void)fd, (void)window, (void)from, (void)bytes; }

void mbr_window_close(int fd, void *window, off_t from, size_t bytes) {
    (void)fd, (void)from;
    mbr_pages_unmap(window, bytes);
}

bool mbr_system_clock(void) { return false; }

/* The counter is used only where the processor says that it is invariant, and the kernel, which compares the cores,
 * trusts it too. */
bool mbr_system_counter(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1U << 8))
        return false;
    char source[32] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, source, sizeof source - 1);
    close(fd);
    return got > 0 && (!strncmp(source, "tsc", 3) || !strncmp(source, "kvm-clock", 9) || !strncmp(source, "hyperv", 6));
#else
    return false;
#endif
}

uint64_t mbr_system_cpu_ns(void) { return mbr_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

static char schedule[64]; /* where the kernel tells how long the first thread waited for a processor */
static uint64_t delay_at_start_ns;

void mbr_system_delay_start(void) {
    snprintf(schedule, sizeof schedule, "/proc/self/task/%ld/schedstat", (long)syscall(SYS_gettid));
    delay_at_start_ns = mbr_delay_ns();
}

uint64_t mbr_delay_ns(void) {
    char text[128] = "";
    uint64_t ran, delay;
    int fd = open(schedule, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return UINT64_MAX;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0 || sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &delay) != 2)
        return UINT64_MAX;
    return delay - delay_at_start_ns;
}

uint64_t mbr_system_place(uint64_t words[MBR_PLACE_WORDS]) {
    char host[256] = "";
    /* Containers on one host have different names and share its processors; the boot has one number. */
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, host, sizeof host - 1);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        gethostname(host, sizeof host - 1);
    words[0] = mbr_text_hash(host);
    memset(words + 1, 0, (MBR_PLACE_WORDS - 1) * sizeof *words);
    if (sched_getaffinity(0, (MBR_PLACE_WORDS - 1) * sizeof *words, (cpu_set_t *)(void *)(words + 1)))
        return 1;
    uint64_t count = MBR_PLACE_WORDS;
    while (count > 1 && !words[count - 1])
        count--;
    return count;
}

static pthread_key_t thread_key;

void mbr_system_threads(void (*release)(void *), void (*in_child)(void)) {
    pthread_key_create(&thread_key, release);
    pthread_atfork(NULL, NULL, in_child);
}

void mbr_system_thread_started(void *thread) { pthread_setspecific(thread_key, thread); }

bool mbr_system_replace(const char *temporary, const char *path) { return !rename(temporary, path); }
