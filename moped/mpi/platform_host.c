// SPDX-License-Identifier: Apache-2.0 OR MIT
// The platform on Linux, for tests: MB_MPI_RANKS processes, made by fork before main, in shared
// memory. The first process starts the others, waits for them, and ends with the first failure.
// Runs on the host and, as a RISC-V program, under qemu-user.

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "platform.h"
#include "tests/moped_double.h"

// Rounds of waiting before a process yields its processor, and before it sleeps between rounds.
enum { SPINS = 64, ROUNDS_AWAKE = 2048, NAP_NS = 100000 };
enum { MAX_RANKS = 256, DOUBLE_BYTES = 1 << 26 };

static int own_rank, ranks = 1;
static int is_crowded; // more ranks than processors
static unsigned char *segment;
static size_t segment_bytes;

static const char *option(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? value : otherwise;
}

static void stop(const char *text)
{
    mb_platform_error(text);
    _exit(2);
}

// Ends the other processes once one has failed.
static _Noreturn void supervise(const pid_t *pid)
{
    int result = 0;
    for (int left = ranks; left > 0;) {
        int status;
        const pid_t ended = wait(&status);
        if (ended < 0) break;
        int is_ours = 0;
        for (int i = 0; i < ranks; i++)
            is_ours |= pid[i] == ended;
        if (!is_ours) continue;
        left--;
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (code == 0 || result != 0) continue;
        result = code;
        for (int i = 0; i < ranks; i++) {
            if (pid[i] != ended) kill(pid[i], SIGTERM);
        }
    }
    _exit(result);
}

__attribute__((constructor)) static void start_processes(void)
{
    const char *text = getenv("MB_MPI_RANKS");
    char *end;
    const long count = text != NULL ? strtol(text, &end, 10) : 1;
    if (text != NULL && (*end != 0 || count < 1 || count > MAX_RANKS))
        stop("mpi: MB_MPI_RANKS: expected a number from 1 to 256\n");
    ranks = (int)count;
    is_crowded = count > sysconf(_SC_NPROCESSORS_ONLN);
    // 270 KB for each pair of processes, and 1 MB; pages exist once they are used.
    segment_bytes = (size_t)ranks * (size_t)ranks * 270000 + (1 << 20);
    const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
    segment = mmap(NULL, segment_bytes + DOUBLE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (segment == MAP_FAILED) stop("mpi: no shared memory\n");
    if (text == NULL) return;
    pid_t pid[MAX_RANKS];
    for (int i = 0; i < ranks; i++) {
        pid[i] = fork();
        if (pid[i] < 0) stop("mpi: fork failed\n");
        if (pid[i] > 0) continue;
        own_rank = i;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // Programs of tests that hang end with the one that started them.
        if (getppid() == 1) _exit(2);
        unsetenv("MB_MPI_RANKS");
        return;
    }
    supervise(pid);
}

int mb_platform_rank(void)
{
    return own_rank;
}

int mb_platform_size(void)
{
    return ranks;
}

void *mb_platform_shared(size_t bytes)
{
    return bytes <= segment_bytes ? segment : NULL;
}

double mb_platform_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void mb_platform_name(char *name, size_t bytes)
{
    if (gethostname(name, bytes) != 0) snprintf(name, bytes, "host");
    name[bytes - 1] = 0;
}

const char *mb_platform_option(const char *name)
{
    return getenv(name);
}

void mb_platform_idle(unsigned rounds)
{
    // A rank that hangs, or waits for one that computes, leaves the processors to the others.
    if (rounds > ROUNDS_AWAKE) nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    else if (rounds > SPINS || is_crowded) sched_yield();
}

void mb_platform_error(const char *text)
{
    const ssize_t written = write(2, text, strlen(text));
    (void)written;
}

void mb_platform_fail(int rank, const char *text)
{
    char line[640];
    snprintf(line, sizeof line, "mpi: rank %d: %s\n", rank, text);
    mb_platform_error(line);
}

// MB_MPI_COUNTERS names a file, to which lines are appended.
void mb_platform_report(const char *line)
{
    FILE *file = fopen(getenv("MB_MPI_COUNTERS"), "a");
    if (file == NULL) return;
    fputs(line, file);
    fclose(file);
}

void mb_platform_abort(int code)
{
    fflush(NULL);
    _exit(code != 0 ? code : 1);
}

// ---- MOPED: the test double ----

static int is_started;

int mb_platform_has_moped(void)
{
    const char *table = getenv("MB_MPI_TABLE"), *transport = getenv("MB_MPI_TRANSPORT");
    if (transport == NULL || strcmp(transport, "moped") != 0) return 0;
    if (!is_started)
        mb_double_start(segment + segment_bytes, DOUBLE_BYTES, own_rank, ranks, table != NULL ? atoi(table) : 64,
                        strcmp(option("MB_MPI_BACKOFF", "ordered"), "literal") == 0);
    is_started = 1;
    return 1;
}

uint32_t mb_port_reserve(void)
{
    return mb_double_reserve();
}

void mb_port_store(uint32_t descriptor, unsigned field, uint64_t value)
{
    mb_double_store(descriptor, field, value);
}

uint32_t mb_port_poll(uint32_t descriptor, unsigned word)
{
    return mb_double_poll(descriptor, word);
}

// The double is called under a lock, which orders memory.
void mb_port_release(void)
{
}

void mb_port_acquire(void)
{
}
