/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The recorder's system: Linux. Space is allocated by writing zeros, so that a full disk is an error code here and
 * never a SIGBUS in the application. (Not with fallocate: the page cache needs the zeros in any case, and a program
 * may forbid itself that call.) A killed rank loses nothing it has written: the pages of a window belong to the file,
 * not to the process.
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

/* --- the file --- */

/* A page at the beginning of the file stays mapped: the header can say that recording stopped even if the file cannot
 * be found again. */
enum { FIRST_PAGE_BYTES = 4096 };

static struct {
    int fd;
    dev_t device;
    ino_t number;
    struct mbr_lock lock;
    char *first_page;
    char path[4096];
} file = {.fd = -1};

static const char *const gone = "its file is gone, and the program has closed the descriptor", *const shortened = "its file was shortened";

/* Moves a descriptor to a high number, so that the program gets the numbers that it gets without the recorder, and
 * locks the file until the process ends: the launcher can distinguish a rank that ended from one that still runs.
 * (Some file systems have no locks. A process loses its locks when it closes any descriptor of the file: this comes
 * last.) */
static int settle(int fd) {
    struct rlimit limit;
    const int high = 1000, spare = 24;
    int least = high;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < (rlim_t)(high + spare))
        least = limit.rlim_cur > 4 * (rlim_t)spare ? (int)limit.rlim_cur - spare : 0;
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, least);
    if (moved >= 0) {
        close(fd);
        fd = moved;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_SETLK, &lock);
    return fd;
}

/* glibc before 2.33 has no function of the name; the kernel's structure is that of the headers. */
static int status_of(int fd, struct stat *status) { return (int)syscall(SYS_fstat, fd, status); }

static bool is_our_file(int fd, off_t *bytes) {
    struct stat now;
    if (fd < 0 || status_of(fd, &now) || now.st_dev != file.device || now.st_ino != file.number)
        return false;
    *bytes = now.st_size;
    return true;
}

/* The descriptor of the file and its size; -1 if the program has closed it and the file is not at its place any
 * more. */
static int descriptor(off_t *bytes) {
    mbr_lock_wait(&file.lock);
    if (!is_our_file(file.fd, bytes)) {
        const int again = open(file.path, O_RDWR | O_CLOEXEC);
        const bool found = is_our_file(again, bytes);
        if (again >= 0 && !found)
            close(again);
        file.fd = found ? settle(again) : -1;
    }
    const int fd = file.fd;
    __atomic_store_n(&file.lock.held, 0, __ATOMIC_RELEASE);
    return fd;
}

/* The recorder's handler of SIGBUS, and the program's before it. Where the file has lost the bytes behind a window,
 * the program goes on. */
static struct sigaction before;

static void on_bus_error(int number, siginfo_t *info, void *context) {
    const bool is_sent = info->si_code <= 0; /* by a process */
    if (!is_sent && mbr_window_lost(info->si_addr))
        return;
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else if (before.sa_handler == SIG_DFL || !is_sent) { /* the instruction fails again */
        const struct sigaction end = {.sa_handler = SIG_DFL};
        sigaction(number, &end, NULL);
        if (is_sent)
            raise(number);
    }
}

bool mbr_system_create(const char *path) {
    struct stat created;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || status_of(fd, &created))
        return false;
    file.device = created.st_dev;
    file.number = created.st_ino;
    if (!realpath(path, file.path))
        snprintf(file.path, sizeof file.path, "%s", path);
    file.fd = settle(fd);
    struct sigaction ours = {.sa_sigaction = on_bus_error};
    if (!sigaction(SIGBUS, NULL, &before)) {
        ours.sa_mask = before.sa_mask;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (before.sa_flags & (SA_RESTART | SA_NODEFER));
        sigaction(SIGBUS, &ours, NULL);
    }
    return true;
}

const char *mbr_system_write(const void *data, size_t bytes, off_t at) {
    off_t size;
    const int fd = descriptor(&size);
    if (fd >= 0 && size < at)
        return shortened;
    if (fd >= 0)
        return pwrite(fd, data, bytes, at) == (ssize_t)bytes ? NULL : strerror(errno);
    if (!file.first_page || (size_t)at + bytes > FIRST_PAGE_BYTES)
        return gone;
    memcpy(file.first_page + at, data, bytes);
    return NULL;
}

/* Pages that write(2) made are large, and mapping them costs half of what faulting them in one by one does. */
const char *mbr_system_space(off_t from, off_t bytes) {
    static const char zeros[ZEROS_BYTES];
    struct rlimit limit;
    off_t size;
    const int fd = descriptor(&size);
    if (fd < 0 || size < from)
        return fd < 0 ? gone : shortened;
    /* Beyond this limit the kernel would also end the program with SIGXFSZ. */
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && (uint64_t)(from + bytes) > limit.rlim_cur)
        return strerror(EFBIG);
    while (bytes > 0) {
        const ssize_t wrote = pwrite(fd, zeros, bytes < ZEROS_BYTES ? (size_t)bytes : ZEROS_BYTES, from);
        if (wrote > 0)
            from += wrote, bytes -= wrote;
        else if (wrote == 0 || errno != EINTR)
            return strerror(wrote == 0 ? ENOSPC : errno);
    }
    if (!file.first_page) {
        void *page = mmap(NULL, FIRST_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        file.first_page = page == MAP_FAILED ? NULL : page;
    }
    return NULL;
}

const char *mbr_system_end(off_t bytes) {
    off_t size;
    const int fd = descriptor(&size);
    if (fd < 0 || size < bytes)
        return fd < 0 ? gone : shortened;
    return ftruncate(fd, bytes) ? strerror(errno) : NULL;
}

void *mbr_window_open(off_t from, size_t bytes, const char **why) {
    off_t size;
    const int fd = descriptor(&size);
    if (fd < 0 || size < from + (off_t)bytes) {
        *why = fd < 0 ? gone : shortened;
        return NULL;
    }
    void *view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
    if (view == MAP_FAILED) {
        *why = strerror(errno);
        return NULL;
    }
    madvise(view, bytes, MADV_POPULATE_WRITE); /* one call instead of a page fault every 64 records; since Linux 5.14, harmless before */
    return view;
}

void mbr_window_write(const void *window, off_t from, size_t bytes) { (void)window, (void)from, (void)bytes; }

void mbr_window_close(void *window, off_t from, size_t bytes) {
    (void)from;
    mbr_pages_unmap(window, bytes);
}

static bool replace_if_in(void *window, size_t bytes, const void *address) {
    return window && (uintptr_t)address - (uintptr_t)window < bytes &&
           mmap(window, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == window;
}

bool mbr_window_lost(const void *address) {
    if (!replace_if_in(mbr_self.window, (size_t)MBR_WINDOW_SLOTS * MBR_RECORD_WORDS * sizeof(uint64_t), address) &&
        !replace_if_in(file.first_page, FIRST_PAGE_BYTES, address))
        return false;
    mbr_stop(shortened);
    return true;
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
