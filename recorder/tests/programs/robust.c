/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What a program and others may do to the recorder's file, and threads that come and go: `robust SCENARIO DIRECTORY`
 * on two ranks. The program sees nothing of it: it prints `fine` if what it did itself is as it left it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MESSAGES = 20000 };

static int rank;
static char own_path[4096], trace_path[4096];

static void stream(int messages) {
    for (int i = 0; i < messages; i++) {
        if (rank == 0)
            MPI_Send(&i, 1, MPI_INT, 1, i % 1000, MPI_COMM_WORLD);
        else
            MPI_Recv(&i, 1, MPI_INT, 0, i % 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The descriptor whose file's name ends in .mbt; -1 if there is none, as without the recorder. */
static int descriptor_of_trace(void) {
    for (int fd = 3; fd < 65536; fd++) {
        char link[64], name[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(link, name, sizeof name - 1);
        if (length > 4 && !strncmp(name + length - 4, ".mbt", 4))
            return fd;
    }
    return -1;
}

/* The program closes the recorder's descriptor and opens a file of its own under the number; with `gone`, the rank's
 * file cannot be opened again either. */
static int takes_over(int gone) {
    const int fd = descriptor_of_trace(), own = open(own_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    const char *text = "the program's own";
    char read_back[64] = "";
    if (write(own, text, strlen(text)) != (ssize_t)strlen(text))
        return 0;
    if (fd >= 0 && dup2(own, fd) != fd)
        return 0;
    if (gone)
        unlink(trace_path);
    stream(MESSAGES);
    return lseek(own, 0, SEEK_END) == (off_t)strlen(text) && pread(own, read_back, sizeof read_back, 0) == (ssize_t)strlen(text) &&
           !strcmp(read_back, text);
}

/* Another process shortens the file to this many bytes. */
static int shortened(off_t bytes) {
    stream(MESSAGES / 10);
    if (!access(trace_path, F_OK) && truncate(trace_path, bytes))
        return 0;
    stream(MESSAGES);
    return 1;
}

static sigjmp_buf back;
static volatile sig_atomic_t faults;
static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    faults += info->si_code > 0;
    siglongjmp(back, 1);
}

/* The program has a handler of SIGBUS and gets its own faults: a page of a file of its own that is not there. */
static int own_fault(void) {
    const int own = open(own_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    stream(100);
    if (!sigsetjmp(back, 1))
        page[0] = 1;
    stream(100);
    return faults == 1;
}

/* From now on fallocate ends the program. */
static int forbid_fallocate(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static pthread_barrier_t together;

static void *one_call(void *wait) {
    int size;
    MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    if (wait)
        pthread_barrier_wait(&together);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return NULL;
}

/* So many threads, one after the other or all at once, make one call each. */
static int threads(int count, int at_once) {
    static pthread_t all[1 << 17];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    pthread_barrier_init(&together, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        if (pthread_create(&all[i], &small, one_call, at_once ? &together : NULL))
            return 0;
        if (!at_once)
            pthread_join(all[i], NULL);
    }
    for (int i = 0; at_once && i < count; i++)
        pthread_join(all[i], NULL);
    return 1;
}

int main(int argc, char **argv) {
    const char *scenario = argv[1];
    const struct sigaction handler = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    int provided, fine = 0;
    if (!strcmp(scenario, "own_fault"))
        sigaction(SIGBUS, &handler, NULL);
    MPI_Init_thread(&argc, &argv, strstr(scenario, "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(own_path, sizeof own_path, "%s/own.%d", argv[2], rank);
    snprintf(trace_path, sizeof trace_path, "%s/trace/rank-%05d.mbt", argv[2], rank);
    if (!strcmp(scenario, "takes_over"))
        fine = takes_over(0);
    else if (!strcmp(scenario, "gone"))
        fine = takes_over(1);
    else if (!strcmp(scenario, "shortened"))
        fine = shortened(100 * 64);
    else if (!strcmp(scenario, "emptied"))
        fine = shortened(0);
    else if (!strcmp(scenario, "own_fault"))
        fine = own_fault();
    else if (!strcmp(scenario, "no_fallocate"))
        fine = forbid_fallocate(), stream(MESSAGES);
    else if (!strcmp(scenario, "threads"))
        fine = threads(atoi(argv[3]), 0);
    else if (!strcmp(scenario, "threads_at_once"))
        fine = threads(atoi(argv[3]), 1);
    printf(fine ? "fine\n" : "not as it should be\n");
    return MPI_Finalize();
}
