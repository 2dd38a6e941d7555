/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The recorder's view of one rank file: records, clocks and the state of a thread.
 * Contract: spec/trace.md; this header mirrors crates/trace/src/record.rs and shares no code with it.
 * Cost: a record is eight stores and eight multiplications; no allocation, no system call except once per window.
 */
#ifndef MBR_TRACE_H
#define MBR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum mbr_kind {
    INIT = 1, FINALIZE, SEND, RECV, DONE, WAIT, PROBE, MISS, CANCEL, FREE, COLLECTIVE, COMM, COMM_FREE, EXTRA, OTHER
};

enum mbr_flag {
    BLOCKING = 1, PERSISTENT = 2, SYNCHRONOUS = 4, CANCELLED = 4, BUFFERED = 8, FAILED = 8, READY = 16, MATCHED = 16,
    MISS_PROBE = 32, VECTOR = 32, SENDRECV = 64, CPU_CARRIED = 128
};

/* Ranks and tags as the trace writes them, whatever the MPI library's own constants are. */
enum { TRACE_ANY_SOURCE = -1, TRACE_ANY_TAG = -2, TRACE_PROC_NULL = -3, TRACE_ROOT = -4, TRACE_NO_ROOT = -1 };

struct mbr_record {
    uint8_t kind, flags;
    uint16_t thread;
    uint32_t comm;
    int32_t peer, tag;
    uint64_t bytes;
    uint32_t request, check;
    uint64_t wall_ns, cpu_ns;
    uint32_t wall_span_ns, cpu_span_ns;
    uint64_t aux;
};

/* A reading of both clocks. `carried` is CPU_CARRIED or 0. */
struct mbr_stamp {
    uint64_t wall_ns, cpu_ns;
    uint8_t carried;
};

/* A record that stands in the file and may still be patched: its place, the 64-bit sum behind its checksum, and the
 * words of it that change. */
struct mbr_open {
    uint64_t index, sum, spans, aux;
};

/* Memory of one thread that grows by doubling (mmap) and is never returned before the thread ends. */
struct mbr_buffer {
    void *data;
    size_t bytes;
};

/* A communicator as the calls need it; filled by comm.c. */
struct mbr_comm {
    uint64_t handle, identity;
    uint64_t *sent; /* sends so far by destination */
    uint32_t number, size, peers;
    int32_t rank;
    bool inter;
};

/* Assumed: polling loops alternate between few calls; one that probes more sources in turn writes a record for each. */
enum { MISS_KINDS = 16 };

/* A datatype and the size of one element; generation 0 = none. */
struct mbr_type {
    uint64_t handle, generation, size;
};

struct mbr_miss {
    struct mbr_record sum;
    struct mbr_open open;
};

struct mbr_thread {
    bool ready;
    bool inside;                        /* in a recorded call, or ended */
    uint16_t number;
    uint64_t wall_ns, cpu_ns;           /* newest reading of this thread's clocks */
    uint64_t *window;                   /* this thread's view of the file */
    uint64_t window_slot;               /* first slot in it; slot = record index + 1, slot 0 is the header */
    struct mbr_buffer words, statuses;
    struct mbr_comm comm;               /* the communicator used last */
    uint64_t comm_generation;
    struct mbr_type type;               /* the datatype used last */
    uint32_t miss_count;                /* the newest records of this thread that are Misses and can be added to */
    struct mbr_miss misses[MISS_KINDS];
};

extern _Thread_local struct mbr_thread mbr_self __attribute__((tls_model("initial-exec")));

/* Set between MPI_Init and MPI_Finalize, until the recorder stops. */
extern bool mbr_active;
/* The program asked for MPI_THREAD_MULTIPLE: shared state needs its locks. */
extern bool mbr_threaded;
extern int mbr_rank;

/* Spin lock that costs a predicted branch unless threads are in play. */
struct mbr_lock {
    int held;
};
void mbr_lock_take(struct mbr_lock *lock);
void mbr_lock_drop(struct mbr_lock *lock);

/* Make room for `bytes`; null only if the system has no memory left. Old contents are lost. */
void *mbr_buffer_fit(struct mbr_buffer *buffer, size_t bytes);
void *mbr_pages_map(size_t bytes);
void mbr_pages_unmap(void *pages, size_t bytes);

void mbr_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Clocks: `calibrate` is called when the library is loaded and again when MPI_Init returns. */
void mbr_clock_calibrate(void);
uint64_t mbr_clock_ns(clockid_t which);
/* Ticks of the first record's begin become wall time 0. */
void mbr_clock_start(uint64_t begin_ticks);
/* Create the file of `rank`; `false` (after a warning) if it cannot be. */
bool mbr_file_create(const char *dir, int rank, int world, uint64_t run_id, uint64_t epoch_ns);
void mbr_file_finalize(void);
/* Give up recording; the application goes on. Only the first call warns. */
void mbr_stop(const char *reason);
bool mbr_stopped(void);
void mbr_thread_setup(struct mbr_thread *thread);

/* Write `head` and `count` words behind it, last record first. */
struct mbr_open mbr_put_words(struct mbr_thread *thread, struct mbr_record head, const uint64_t *words, uint64_t count);

/* Where the record with this index is written if it is not in the thread's window; null once nothing can be. */
uint64_t *mbr_place_find(struct mbr_thread *thread, uint64_t slot);
/* Set space aside up to this slot, or stop. */
void mbr_file_grow(uint64_t slots);

/* --- what every call does. Inlined always: a record that passed through memory in parts would be loaded in words, which stalls --- */

#define MBR_INLINE static inline __attribute__((always_inline))

enum {
    MBR_RECORD_WORDS = 8,
    /* One view of the file, 256 KiB. Mapping it costs nothing per record, and hundreds of threads can have one. */
    MBR_WINDOW_SLOTS = 4096,
};

/* Keys of the checksum: spec/trace.md, T-13. */
static const uint64_t mbr_check_keys[MBR_RECORD_WORDS + 1] = {
    0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1, 0x082efa98ec4e6c89, 0x452821e638d01377,
    0xbe5466cf34e90c6d, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917, 0x9216d5d98979fb1b,
};

extern struct mbr_clocks {
    bool counter;        /* read the processor's counter, not clock_gettime */
    uint64_t base_ticks; /* ticks at wall time 0 */
    uint64_t scale;      /* ns per tick, 32.32 fixed point */
    uint64_t cpu_gap_ns; /* gap beyond which the thread's CPU clock is read */
} mbr_clocks;

extern struct mbr_shared {
    uint64_t next_slot, allocated_slots, next_request;
} mbr_shared;

MBR_INLINE uint64_t mbr_clock_ticks(void) {
#if defined(__x86_64__)
    if (__builtin_expect(mbr_clocks.counter, 1))
        return __builtin_ia32_rdtsc();
#endif
    return mbr_clock_ns(CLOCK_MONOTONIC);
}

MBR_INLINE uint64_t mbr_clock_wall(void) {
    return (uint64_t)(((unsigned __int128)(mbr_clock_ticks() - mbr_clocks.base_ticks) * mbr_clocks.scale) >> 32);
}

/* Reads both clocks. CPU time runs with wall time in a short gap: a thread that was taken off its core stays off for longer. */
MBR_INLINE struct mbr_stamp mbr_stamp_read(struct mbr_thread *thread, bool begin) {
    uint64_t now = mbr_clock_wall();
    if (__builtin_expect((int64_t)(now - thread->wall_ns) < 0, 0))
        now = thread->wall_ns;
    uint64_t gap = now - thread->wall_ns;
    struct mbr_stamp result = {now, thread->cpu_ns + gap, CPU_CARRIED};
    if (__builtin_expect(gap > mbr_clocks.cpu_gap_ns, 0)) {
        uint64_t cpu = mbr_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        result.cpu_ns = cpu > thread->cpu_ns ? cpu : thread->cpu_ns;
        result.carried = 0;
        if (begin) /* the reading itself belongs before the call, not into it */
            result.wall_ns = mbr_clock_wall();
    }
    thread->wall_ns = result.wall_ns;
    thread->cpu_ns = result.cpu_ns;
    return result;
}
MBR_INLINE struct mbr_stamp mbr_stamp_begin(struct mbr_thread *thread) { return mbr_stamp_read(thread, true); }
MBR_INLINE struct mbr_stamp mbr_stamp_end(struct mbr_thread *thread) { return mbr_stamp_read(thread, false); }

/* Numbers for requests and probes: the first of `count`. */
MBR_INLINE uint32_t mbr_request_take(uint32_t count) {
    uint64_t first = mbr_shared.next_request;
    if (__builtin_expect(mbr_threaded, 0))
        first = __atomic_fetch_add(&mbr_shared.next_request, count, __ATOMIC_RELAXED);
    else
        mbr_shared.next_request = first + count;
    if (__builtin_expect(first + count > UINT32_MAX, 0))
        mbr_stop("more than 2^32 requests");
    return (uint32_t)first;
}

/* Reserve `count` records in a row and return the index of the first. */
MBR_INLINE uint64_t mbr_reserve(struct mbr_thread *thread, uint64_t count) {
    uint64_t slot = mbr_shared.next_slot;
    if (__builtin_expect(mbr_threaded, 0))
        slot = __atomic_fetch_add(&mbr_shared.next_slot, count, __ATOMIC_RELAXED);
    else
        mbr_shared.next_slot = slot + count;
    thread->miss_count = 0;
    if (__builtin_expect(slot + count > __atomic_load_n(&mbr_shared.allocated_slots, __ATOMIC_ACQUIRE), 0))
        mbr_file_grow(slot + count);
    return slot - 1;
}

MBR_INLINE uint64_t *mbr_place(struct mbr_thread *thread, uint64_t index) {
    uint64_t within = index + 1 - thread->window_slot;
    if (__builtin_expect(thread->window && within < MBR_WINDOW_SLOTS, 1))
        return thread->window + within * MBR_RECORD_WORDS;
    return mbr_place_find(thread, index + 1);
}

MBR_INLINE uint64_t mbr_pair(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* Fill a reserved record. The kind, in the first word, is stored last: a record is whole or of kind 0. */
MBR_INLINE struct mbr_open mbr_put(struct mbr_thread *thread, uint64_t index, struct mbr_record record) {
    const uint64_t words[MBR_RECORD_WORDS] = {
        mbr_pair(record.kind | (uint32_t)record.flags << 8 | (uint32_t)record.thread << 16, record.comm),
        mbr_pair((uint32_t)record.peer, (uint32_t)record.tag),
        record.bytes,
        record.request,
        record.wall_ns,
        record.cpu_ns,
        mbr_pair(record.wall_span_ns, record.cpu_span_ns),
        record.aux,
    };
    uint64_t sum = (index + 1) * mbr_check_keys[MBR_RECORD_WORDS];
#pragma GCC unroll 8
    for (int i = 0; i < MBR_RECORD_WORDS; i++)
        sum += words[i] * mbr_check_keys[i];
    uint64_t *place = mbr_place(thread, index);
    if (__builtin_expect(place != NULL, 1)) {
#pragma GCC unroll 8
        for (int i = 1; i < MBR_RECORD_WORDS; i++)
            place[i] = i == 3 ? words[3] | sum >> 32 << 32 : words[i];
        __atomic_store_n(place, words[0], __ATOMIC_RELEASE);
    }
    return (struct mbr_open){index, sum, words[6], words[7]};
}

/* Set spans and aux of a record that was put before. */
MBR_INLINE void mbr_patch(struct mbr_thread *thread, struct mbr_open *open, uint32_t wall_span_ns, uint32_t cpu_span_ns,
                             uint64_t aux) {
    uint64_t *place = mbr_place(thread, open->index);
    if (__builtin_expect(place == NULL, 0))
        return;
    uint64_t spans = mbr_pair(wall_span_ns, cpu_span_ns);
    open->sum += (spans - open->spans) * mbr_check_keys[6] + (aux - open->aux) * mbr_check_keys[7];
    open->spans = spans;
    open->aux = aux;
    place[6] = spans;
    place[7] = aux;
    ((uint32_t *)(void *)place)[7] = (uint32_t)(open->sum >> 32);
}

/* The span between two readings, saturated. */
static inline uint32_t mbr_span(uint64_t begin, uint64_t end) {
    uint64_t span = end - begin;
    return span > UINT32_MAX ? UINT32_MAX : (uint32_t)span;
}

#endif
