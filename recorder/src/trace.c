/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Writes the file of one rank. Each thread fills records through its own small window of the file (system.h).
 * Cost: one allocation per GROWTH, one window per WINDOW and thread; clocks dominate everything else.
 */
#define _GNU_SOURCE
#include "trace.h"

#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    RECORD_BYTES = 64,
    /* Space allocated at a time, 256 KiB. MPI_Finalize truncates the unused rest. */
    GROWTH_SLOTS = MBR_WINDOW_SLOTS,
    WALL_BITS = 53, /* of a time: spec/trace.md, T-12 */
    HEADER_FINALIZED = 1,
    HEADER_STOPPED = 2,
    HEADER_ABORTED = 4,
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "traces are little-endian and written in place");

struct header {
    uint8_t magic[8];
    uint16_t version, record_bytes;
    uint32_t flags, first_rank, segments, world, reserved;
    uint64_t records, epoch_ns, run_id, check;
};
_Static_assert(sizeof(struct header) == RECORD_BYTES, "a header has 64 bytes");

_Thread_local struct mbr_thread mbr_self;
struct mbr_clocks mbr_clocks = {.scale = UINT64_C(1) << 56};
struct mbr_shared mbr_shared;
struct mbr_lock mbr_lock;
bool mbr_threaded;
int mbr_rank = -1;
uint64_t mbr_generation = MBR_OFF | FIRST_GENERATION;

static struct {
    struct header header;
    int stopped;
    pid_t process;
} file;

/* --- memory and locks --- */

void mbr_lock_wait(struct mbr_lock *lock) {
    while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
        for (int spin = 0; __atomic_load_n(&lock->held, __ATOMIC_RELAXED); spin++)
            if (spin > 100)
                sched_yield();
}

void *mbr_pages_map(size_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void mbr_pages_unmap(void *pages, size_t bytes) {
    if (pages)
        munmap(pages, bytes);
}

void *mbr_buffer_grow(struct mbr_buffer *buffer, size_t bytes) {
    size_t grown = buffer->bytes ? buffer->bytes : 32768;
    while (grown < bytes)
        grown *= 2;
    mbr_pages_unmap(buffer->data, buffer->bytes);
    buffer->data = mbr_pages_map(grown);
    buffer->bytes = buffer->data ? grown : 0;
    if (!buffer->data)
        mbr_stop("out of memory");
    return buffer->data;
}

void mbr_warn(const char *format, ...) {
    char text[512];
    int used = mbr_rank < 0 ? snprintf(text, sizeof text, "matchbench: ")
                            : snprintf(text, sizeof text, "matchbench: rank %d: ", mbr_rank);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "%s\n", text);
}

/* --- clocks --- */

/* Timestamps of both clocks when the library was loaded. */
static struct {
    bool taken;
    uint64_t ticks, ns;
} loaded;

uint64_t mbr_clock_ns(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Counter and system clock at the same time: the closest pair of several tries. */
static void read_pair(uint64_t *ticks, uint64_t *ns) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t before = mbr_clock_ticks(), now = mbr_clock_ns(CLOCK_MONOTONIC), after = mbr_clock_ticks();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

void mbr_clock_calibrate(void) {
    if (mbr_system_clock())
        return;
    if (!loaded.taken) {
        loaded.taken = true;
        mbr_clocks.counter = mbr_system_counter();
        read_pair(&loaded.ticks, &loaded.ns);
        return;
    }
    if (mbr_clocks.counter) {
        /* A pair is accurate to about 20 ns, so 20 ms give the rate to 2 ppm; MPI_Init usually
         * takes longer. */
        const uint64_t least_ns = 20000000;
        uint64_t passed = mbr_clock_ns(CLOCK_MONOTONIC) - loaded.ns;
        if (passed < least_ns) {
            struct timespec rest = {.tv_nsec = (long)(least_ns - passed)};
            nanosleep(&rest, NULL);
        }
        uint64_t ticks, ns;
        read_pair(&ticks, &ns);
        mbr_clocks.scale = (uint64_t)(((unsigned __int128)(ns - loaded.ns) << 56) / (ticks - loaded.ticks));
    }
    /* Read the CPU clock, a system call, only after gaps of at least twenty times its cost. */
    uint64_t cost = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t before = mbr_clock_ns(CLOCK_MONOTONIC);
        mbr_system_cpu_ns();
        uint64_t took = mbr_clock_ns(CLOCK_MONOTONIC) - before;
        cost = took < cost ? took : cost;
    }
    mbr_clocks.cpu_gap_ns = cost * 20 < UINT32_MAX ? cost * 20 : UINT32_MAX; /* shorter spans need no saturation test */
#if defined(__x86_64__)
    mbr_clocks.near_ns = mbr_clocks.counter ? mbr_clocks.cpu_gap_ns : 0;
#else
    mbr_clocks.near_ns = mbr_clocks.cpu_gap_ns;
#endif
}

void mbr_clock_start(uint64_t begin_ticks) { mbr_clocks.base_ticks = begin_ticks; }

/* Read both clocks, without a limit on the gap. */
static struct mbr_stamp stamp_far(struct mbr_thread *thread, uint64_t now, bool begin) {
    if (!mbr_clocks.counter)
        now = mbr_clock_wall(mbr_clock_ticks());
    uint32_t carried = CPU_CARRIED;
    if ((int64_t)(now - thread->wall_ns) < 0 || now >> WALL_BITS) { /* a counter that was reset is far ahead or behind */
        now = thread->wall_ns;
    } else if (now - thread->wall_ns >= mbr_clocks.cpu_gap_ns) {
        uint64_t cpu = mbr_system_cpu_ns(), least = thread->wall_ns - thread->lag_ns;
        if (cpu < least)
            cpu = least;
        if (begin) /* the cost of reading belongs before the call, not into it */
            now = mbr_clock_wall(mbr_clock_ticks());
        thread->lag_ns = now - cpu;
        carried = 0;
    }
    thread->wall_ns = now;
    return (struct mbr_stamp){now, now - thread->lag_ns, carried};
}

void mbr_begin_far(struct mbr_thread *thread, uint64_t now, struct mbr_stamp *begin) { *begin = stamp_far(thread, now, true); }

struct mbr_spans mbr_end_far(struct mbr_thread *thread, uint64_t now, uint64_t begin_wall_ns) {
    uint64_t begin_cpu_ns = begin_wall_ns - thread->lag_ns;
    struct mbr_stamp end = stamp_far(thread, now, false);
    return (struct mbr_spans){mbr_pair(mbr_span(begin_wall_ns, end.wall_ns), mbr_span(begin_cpu_ns, end.cpu_ns)), end.carried};
}

/* --- the file --- */

/* Returns null, or why it failed. */
static const char *header_write(void) {
    struct header *header = &file.header;
    uint64_t words[8];
    uint64_t sum = 0; /* the index of a header is 2^64 - 1, so its key is multiplied by 0 */
    header->check = 0;
    memcpy(words, header, sizeof words);
    for (int i = 0; i < MBR_RECORD_WORDS; i++)
        sum += MBR_CHECK(i, words[i]);
    header->check = sum >> 32;
    return mbr_system_write(header, sizeof *header, 0);
}

void mbr_stop(const char *reason) {
    if (__atomic_exchange_n(&file.stopped, 1, __ATOMIC_ACQ_REL))
        return;
    __atomic_fetch_or(&mbr_generation, MBR_OFF, __ATOMIC_RELEASE);
    mbr_warn("recording stopped, the program continues: %s", reason);
    file.header.flags |= HEADER_STOPPED;
    header_write();
}

bool mbr_stopped(void) { return __atomic_load_n(&file.stopped, __ATOMIC_ACQUIRE); }

void mbr_file_grow(uint64_t slots) {
    const char *why = NULL;
    while (!why && mbr_shared.allocated_slots < slots && !file.stopped) {
        uint64_t from = mbr_shared.allocated_slots * RECORD_BYTES, bytes = GROWTH_SLOTS * RECORD_BYTES;
        why = mbr_system_space((off_t)from, (off_t)bytes);
        if (!why)
            __atomic_store_n(&mbr_shared.allocated_slots, mbr_shared.allocated_slots + GROWTH_SLOTS, __ATOMIC_RELEASE);
    }
    if (why)
        mbr_stop(why);
    if (mbr_shared.next_request > UINT32_MAX - 2 * GROWTH_SLOTS) /* each record takes at most one number */
        mbr_stop("more than 2^32 requests");
}

static const size_t window_bytes = (size_t)MBR_WINDOW_SLOTS * RECORD_BYTES;

static void window_close(uint64_t *window, uint64_t slot) {
    if (window)
        mbr_window_close(window, (off_t)(slot * RECORD_BYTES), window_bytes);
}

static void window_leave(struct mbr_thread *thread) {
    window_close(thread->window, thread->window_slot);
    thread->window = NULL;
    thread->window_slot = MBR_NO_WINDOW;
    thread->near_end = 0;
}

/* Slots of threads (spec/trace.md, T-20), and those whose threads have ended, each with the newest time in it; and the
 * window of a thread that has ended, for the next one: mapping it again would cost more than all else. A thread may end
 * while another one is in a call, whatever the thread level: the lock is needed always. */
static struct {
    struct mbr_lock lock;
    uint64_t *window;
    uint64_t window_slot;
    uint32_t threads, slots, free_count;
    struct free_slot {
        uint64_t wall_ns;
        uint32_t slot;
    } free[MBR_THREAD_SLOTS];
} threads;

static void thread_release(void *argument) {
    struct mbr_thread *thread = argument;
    mbr_lock_wait(&threads.lock);
    uint64_t *const older = threads.window;
    const uint64_t older_slot = threads.window_slot;
    threads.window = thread->window;
    threads.window_slot = thread->window_slot;
    threads.free[threads.free_count++] = (struct free_slot){thread->wall_ns, (uint32_t)(thread->origin >> 16)};
    __atomic_store_n(&threads.lock.held, 0, __ATOMIC_RELEASE);
    window_close(older, older_slot);
    mbr_pages_unmap(thread->words.data, thread->words.bytes);
    mbr_pages_unmap(thread->statuses.data, thread->statuses.bytes);
    *thread = (struct mbr_thread){.pass = INSIDE}; /* its later calls are not recorded */
}

void mbr_thread_forget(struct mbr_thread *thread) {
    if (mbr_threaded)
        thread->near_end = 0; /* a session or MPI_Init may allow threads later than the first one did */
    thread->comm_word = thread->type.word = thread->large_type.word = MBR_NO_WORD;
    thread->comm = (struct mbr_comm){0}; /* its counters are freed with the communicator */
}

bool mbr_thread_setup(struct mbr_thread *thread) {
    struct free_slot taken = {0};
    mbr_lock_wait(&threads.lock);
    const uint32_t number = threads.threads++;
    const bool is_full = !threads.free_count && threads.slots == MBR_THREAD_SLOTS;
    if (threads.free_count)
        taken = threads.free[--threads.free_count];
    else if (!is_full)
        taken.slot = threads.slots++;
    __atomic_store_n(&threads.lock.held, 0, __ATOMIC_RELEASE);
    if (is_full) {
        mbr_stop("more threads live than a trace has slots for");
        return false;
    }
    thread->origin = mbr_origin(taken.slot, 0);
    thread->window_slot = MBR_NO_WINDOW;
    mbr_thread_forget(thread);
    mbr_system_thread_started(thread);
    if (taken.slot == number)
        return true;
    const uint64_t wall_ns = mbr_clock_wall(mbr_clock_ticks()), cpu_ns = mbr_system_cpu_ns();
    thread->wall_ns = wall_ns > taken.wall_ns ? wall_ns : taken.wall_ns;
    thread->lag_ns = thread->wall_ns - cpu_ns;
    mbr_append(thread, (struct mbr_record){
                           .kind = THREAD,
                           .origin = thread->origin,
                           .wall_ns = thread->wall_ns,
                           .cpu_ns = cpu_ns,
                           .aux = number,
                       });
    return true;
}

static void forget_in_child(void) { __atomic_fetch_or(&mbr_generation, MBR_OFF, __ATOMIC_RELEASE); }

bool mbr_file_create(const char *dir, int rank, int world, uint64_t run_id, uint64_t epoch_ns) {
    char path[4096];
    mbr_rank = rank;
    snprintf(path, sizeof path, "%s/rank-%05d.mbt", dir, rank);
    const bool is_created = mbr_system_create(path);
    if (!is_created && errno == EEXIST) {
        mbr_note(dir, 'x');
        mbr_warn("not recorded: %s exists: the directory is in use, or another process of this launch is rank %d too; record one MPI "
                 "program into a directory, with the launcher of its MPI library",
                 path, rank);
        return false;
    }
    if (!is_created) {
        mbr_warn("not recorded: cannot create %s: %s", path, strerror(errno));
        return false;
    }
    file.header = (struct header){
        .magic = {'M', 'B', 'T', 'R', 'A', 'C', 'E', 1},
        .version = 3,
        .record_bytes = RECORD_BYTES,
        .first_rank = (uint32_t)rank,
        .segments = 1,
        .world = (uint32_t)world,
        .epoch_ns = epoch_ns,
        .run_id = run_id,
    };
    mbr_shared.next_slot = 1;
    mbr_shared.next_request = 1;
    mbr_file_grow(1);
    if (mbr_stopped())
        return false;
    const char *why = header_write();
    if (why) {
        mbr_stop(why);
        return false;
    }
    mbr_system_delay_start();
    file.process = getpid();
    mbr_system_threads(thread_release, forget_in_child);
    return true;
}

void mbr_file_write(void) {
    const struct mbr_thread *thread = &mbr_self;
    if (thread->window)
        mbr_window_write(thread->window, (off_t)(thread->window_slot * RECORD_BYTES), window_bytes);
}

void mbr_file_finalize(void) {
    if (__atomic_fetch_or(&mbr_generation, MBR_OFF, __ATOMIC_ACQ_REL) & MBR_OFF)
        return;
    window_leave(&mbr_self);
    const char *why = mbr_system_end((off_t)(mbr_shared.next_slot * RECORD_BYTES));
    if (!why) {
        file.header.records = mbr_shared.next_slot - 1;
        file.header.flags |= HEADER_FINALIZED;
        why = header_write();
        if (why)
            mbr_warn("cannot close the trace: %s", why);
        return;
    }
    mbr_stop(why);
}

bool mbr_file_resume(void) {
    static const char empty[RECORD_BYTES];
    if (!(file.header.flags & HEADER_FINALIZED) || mbr_stopped() || getpid() != file.process) /* a forked child has no trace */
        return false;
    const off_t end = (off_t)(--mbr_shared.next_slot * RECORD_BYTES), space = (off_t)(mbr_shared.allocated_slots * RECORD_BYTES);
    file.header.records = 0;
    file.header.flags &= ~(uint32_t)HEADER_FINALIZED;
    const char *why = mbr_system_write(empty, RECORD_BYTES, end);
    if (!why)
        why = header_write();
    if (!why)
        why = mbr_system_space(end, space - end);
    if (why) {
        mbr_stop(why);
        return false;
    }
    __atomic_fetch_and(&mbr_generation, ~MBR_OFF, __ATOMIC_RELEASE);
    __atomic_fetch_add(&mbr_generation, MBR_GENERATION_STEP, __ATOMIC_RELEASE);
    return true;
}

void mbr_file_abort(void) {
    file.header.flags |= HEADER_ABORTED;
    mbr_file_write();
    header_write();
}

void mbr_note(const char *dir, char letter) {
    char path[4096];
    snprintf(path, sizeof path, "%s/notes.tmp", dir);
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC); /* created by the launcher; without one, no process reads it */
    if (fd < 0)
        return;
    /* Of loading, one process that says so is enough; not each of thousands writes there. */
    char notes[256];
    const ssize_t length = read(fd, notes, sizeof notes);
    const bool is_known = (letter == 'l' || letter == 'm') && length > 0 && memchr(notes, letter, (size_t)length);
    if (!is_known && write(fd, &letter, 1) != 1)
        mbr_warn("cannot write %s: %s", path, strerror(errno));
    close(fd);
}

void mbr_refuse(const char *format, ...) {
    char text[512], path[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *dir = getenv("MATCHBENCH_RECORD_DIR");
    snprintf(path, sizeof path, "%s/notes.tmp", dir ? dir : "");
    const bool has_launcher = !access(path, F_OK);
    snprintf(path, sizeof path, "%s/refused.tmp", dir ? dir : "");
    /* The first process says it for all. */
    const int fd = has_launcher ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    if (fd < 0 && !(has_launcher && errno == EEXIST))
        mbr_warn("not recorded: %s", text);
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        mbr_warn("cannot write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* The window from this slot on, if a thread that has ended has left it. */
static uint64_t *window_inherited(uint64_t slot) {
    uint64_t *window = NULL;
    mbr_lock_wait(&threads.lock);
    if (threads.window && threads.window_slot == slot) {
        window = threads.window;
        threads.window = NULL;
    }
    __atomic_store_n(&threads.lock.held, 0, __ATOMIC_RELEASE);
    return window;
}

uint64_t *mbr_place_find(struct mbr_thread *thread, uint64_t slot) {
    window_leave(thread);
    if (slot >= __atomic_load_n(&mbr_shared.allocated_slots, __ATOMIC_ACQUIRE))
        return thread->nowhere;
    uint64_t first = slot / MBR_WINDOW_SLOTS * MBR_WINDOW_SLOTS;
    const char *why = "";
    void *view = window_inherited(first);
    if (!view)
        view = mbr_window_open((off_t)(first * RECORD_BYTES), window_bytes, &why);
    if (!view) {
        mbr_stop(why);
        return thread->nowhere;
    }
    thread->window = view;
    thread->window_slot = first;
    thread->window_base = (uintptr_t)view - first * RECORD_BYTES;
    /* Without a usable counter the fast path is off; the instruction that reads it may trap. */
    thread->near_end = mbr_threaded || !mbr_clocks.near_ns ? 0 : first + MBR_WINDOW_SLOTS;
    return mbr_place_near(thread, slot);
}

/* Records that `head` with this many words takes. */
static uint64_t slots_of(uint64_t count) { return 1 + (count + 5) / 6; }

static struct mbr_open put_words_at(struct mbr_thread *thread, uint64_t slot, struct mbr_record head, const uint64_t *words,
                                    uint64_t count) {
    const uint64_t extras = slots_of(count) - 1;
    for (uint64_t extra = extras; extra-- > 0;) {
        uint64_t w[6] = {0};
        uint64_t here = count - extra * 6 < 6 ? count - extra * 6 : 6;
        memcpy(w, words + extra * 6, here * sizeof *w);
        mbr_put_at(thread, slot + 1 + extra,
                   (struct mbr_record){
                       .kind = EXTRA,
                       .tag = (int32_t)here,
                       .origin = mbr_origin(0, (uint32_t)w[0]),
                       .peer = (int32_t)(w[0] >> 32),
                       .bytes = w[1],
                       .wall_ns = w[2],
                       .cpu_ns = w[3],
                       .spans = w[4],
                       .aux = w[5],
                   });
    }
    return mbr_put_at(thread, slot, head);
}

struct mbr_open mbr_put_words(struct mbr_thread *thread, struct mbr_record head, const uint64_t *words, uint64_t count) {
    mbr_lock_take(&mbr_lock);
    const uint64_t slot = mbr_reserve(thread, slots_of(count));
    mbr_lock_drop(&mbr_lock);
    return put_words_at(thread, slot, head, words, count);
}

void mbr_put_both(struct mbr_thread *thread, const struct mbr_group *first, const struct mbr_group *second) {
    mbr_lock_take(&mbr_lock);
    const uint64_t slot = mbr_reserve(thread, slots_of(first->count) + slots_of(second->count));
    mbr_lock_drop(&mbr_lock);
    put_words_at(thread, slot + slots_of(first->count), second->head, second->words, second->count);
    put_words_at(thread, slot, first->head, first->words, first->count);
}
