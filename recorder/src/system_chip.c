/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The recorder's system: the simulated chip, under moped/kernel. A process has one thread, and `matchbench chip run
 * --trace` gives it a core to itself. A window is memory that is written to the file when the recorder leaves it:
 * a rank that a fault ends loses the records of its last window. Nothing here depends on the machine that
 * simulates.
 */
#define _GNU_SOURCE
#include "system.h"

#include "tables.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file = -1;

bool mbr_system_create(const char *path) {
    file = open(path, O_RDWR | O_CREAT | O_EXCL, 0666);
    return file >= 0;
}

/* A file grows when it is written. */
const char *mbr_system_space(off_t from, off_t bytes) {
    (void)from, (void)bytes;
    return NULL;
}

const char *mbr_system_write(const void *data, size_t bytes, off_t at) {
    const ssize_t wrote = pwrite(file, data, bytes, at);
    return wrote == (ssize_t)bytes ? NULL : wrote < 0 ? strerror(errno) : "the file cannot be written";
}

const char *mbr_system_end(off_t bytes) { return ftruncate(file, bytes) ? strerror(errno) : NULL; }

void *mbr_window_open(off_t from, size_t bytes, const char **why) {
    void *window = calloc(1, bytes);
    /* A group of records that lies in two windows is written from its end on (spec/trace.md, T-5). */
    if (window && pread(file, window, bytes, from) < 0) {
        free(window);
        window = NULL;
    }
    *why = window ? NULL : strerror(errno);
    return window;
}

void mbr_window_write(const void *window, off_t from, size_t bytes) {
    const size_t header = from == 0 ? MBR_RECORD_WORDS * sizeof(uint64_t) : 0; /* the file's own is newer */
    const char *why = mbr_system_write((const char *)window + header, bytes - header, from + (off_t)header);
    if (why)
        mbr_stop(why);
}

void mbr_window_close(void *window, off_t from, size_t bytes) {
    if (window)
        mbr_window_write(window, from, bytes);
    free(window);
}

/* The counter is the time register. Its rate is stated by the launcher. */
bool mbr_system_clock(void) {
    const char *text = getenv("MATCHBENCH_RECORD_CLOCK_HZ");
    const uint64_t hz = text ? strtoull(text, NULL, 10) : 0;
    mbr_clocks.counter = true;
    mbr_clocks.scale = (uint64_t)(((unsigned __int128)1000000000 << 56) / (hz ? hz : 1000000000));
    mbr_clocks.near_ns = mbr_clocks.cpu_gap_ns = UINT32_MAX;
    return true;
}

bool mbr_system_counter(void) { return true; }

/* Of a process that has its core to itself: the time since its first record. */
uint64_t mbr_system_cpu_ns(void) { return mbr_clocks.base_ticks ? mbr_clock_near() : 0; }

void mbr_system_delay_start(void) {}

uint64_t mbr_delay_ns(void) { return 0; }

uint64_t mbr_system_place(uint64_t words[MBR_PLACE_WORDS]) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof cores, &cores);
    words[0] = mbr_text_hash("chip");
    words[1] = 0;
    for (int core = 0; core < 64; core++)
        words[1] |= (uint64_t)(CPU_ISSET(core, &cores) != 0) << core;
    return 2;
}

/* The kernel has neither threads nor fork. Functions of pthreads are not to be used here: libgfortran takes one that is
 * linked for a sign that all of them are. */
void mbr_system_threads(void (*release)(void *), void (*in_child)(void)) { (void)release, (void)in_child; }
void mbr_system_thread_started(void *thread) { (void)thread; }

/* The kernel cannot rename files, and no process reads this one meanwhile. */
bool mbr_system_replace(const char *temporary, const char *path) {
    char piece[4096];
    ssize_t got = -1;
    const int from = open(temporary, O_RDONLY), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    while (from >= 0 && to >= 0 && (got = read(from, piece, sizeof piece)) > 0)
        if (write(to, piece, (size_t)got) != got)
            got = -1;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    unlink(temporary);
    return got == 0;
}

/* A program that ends without MPI_Finalize. */
__attribute__((destructor)) static void ended(void) { mbr_file_write(); }
