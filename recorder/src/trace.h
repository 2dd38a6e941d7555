/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The recorder's view of one rank file: records, clocks and the state of a thread.
 * Contract: spec/trace.md; this header mirrors crates/trace/src/record.rs and shares no code with it.
 * Cost: a record is eight stores and at most nine multiplications; no allocation, no system call except once per window.
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

/* A record in the making. Its fields are whole words, so that it stays in registers: a half that was stored by itself and is loaded
 * as part of a word stalls the processor. `mbr_put` packs it into the 64 bytes of the file. */
struct mbr_record {
    uint32_t kind, flags, thread, comm;
    int32_t peer, tag;
    uint64_t bytes;
    uint32_t request;
    uint64_t wall_ns, cpu_ns;
    uint32_t wall_span_ns, cpu_span_ns;
    uint64_t aux;
};

/* A reading of both clocks. `carried` is CPU_CARRIED or 0. */
struct mbr_stamp {
    uint64_t wall_ns, cpu_ns;
    uint32_t carried;
};

/* A record that stands in the file and may still be patched while the thread's window stays where it is: its place, the 64-bit
 * sum behind its checksum, and the words of it that change. */
struct mbr_open {
    uint64_t *place, sum, spans, aux;
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

#define MBR_NO_HANDLE UINT64_MAX

/* A datatype and the size of one element. */
struct mbr_type {
    uint64_t handle, size;
};

struct mbr_miss {
    struct mbr_record sum;
    struct mbr_open open;
};

/* A thread's `pass` before its first call, and in a recorded call or when it ended; between calls it is a generation. */
enum mbr_pass { NEW, INSIDE, FIRST_GENERATION };

enum { MBR_RECORD_WORDS = 8 };

struct mbr_thread {
    uint64_t pass;
    uint32_t number;
    uint64_t wall_ns;                   /* newest reading of the clock */
    uint64_t lag_ns;                    /* wall time minus this thread's CPU time, when both were read last */
    uint64_t *window;                   /* this thread's view of the file, null if it has none */
    uint64_t window_slot;               /* first slot in it; slot = record index + 1, slot 0 is the header */
    struct mbr_type type;               /* the datatype used last */
    struct mbr_comm comm;               /* the communicator used last */
    struct mbr_buffer words, statuses;
    uint64_t nowhere[MBR_RECORD_WORDS]; /* takes the record that finds no place because recording stopped */
    uint32_t miss_count;                /* the newest records of this thread that are Misses and can be added to */
    struct mbr_miss misses[MISS_KINDS];
};

extern _Thread_local struct mbr_thread mbr_self __attribute__((tls_model("initial-exec")));

/* The program asked for MPI_THREAD_MULTIPLE: shared state needs its locks. */
extern bool mbr_threaded;
extern int mbr_rank;
/* Counts communicators and datatypes that were freed: what a thread remembers of handles may be wrong since. MBR_OFF is added but
 * between MPI_Init and MPI_Finalize while the recorder has not stopped. So a thread whose pass is `mbr_generation` has its call
 * recorded, and one comparison finds out all else: recording off, a call of MPI's own, a thread's first call, a handle freed. */
#define MBR_OFF (UINT64_C(1) << 63)
extern uint64_t mbr_generation;

/* Spin lock that costs a predicted branch unless threads are in play. */
struct mbr_lock {
    int held;
};
void mbr_lock_wait(struct mbr_lock *lock);

void *mbr_buffer_grow(struct mbr_buffer *buffer, size_t bytes);
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

/* Where the record in this slot is written if it is not in the thread's window; `nowhere` once nothing can be. */
uint64_t *mbr_place_find(struct mbr_thread *thread, uint64_t slot);
/* Set space aside up to this slot, or stop. The caller holds `mbr_lock`, if there are threads. */
void mbr_file_grow(uint64_t slots);
/* The wall time and `carried` of a reading after a gap so long that the CPU clock is worth a system call, or by a clock that went
 * back. Two words, which come back in registers. */
struct mbr_apart {
    uint64_t wall_ns, carried;
};
struct mbr_apart mbr_stamp_apart(struct mbr_thread *thread, uint64_t now, bool begin);

/* --- what every call does. Inlined always: a record that passed through memory in parts would be loaded in words, which stalls --- */

#define MBR_INLINE static inline __attribute__((always_inline))

/* One view of the file, 256 KiB. Mapping it costs nothing per record, and hundreds of threads can have one. */
enum { MBR_WINDOW_SLOTS = 4096 };
/* The `window_slot` of a thread without a window: no slot is near. */
#define MBR_NO_WINDOW (UINT64_C(1) << 63)

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

/* What the threads share, with the tables: held by whoever holds `mbr_lock`. */
extern struct mbr_shared {
    uint64_t next_slot, next_request, allocated_slots;
} mbr_shared;
extern struct mbr_lock mbr_lock;

MBR_INLINE void mbr_lock_take(struct mbr_lock *lock) {
    if (__builtin_expect(mbr_threaded, 0))
        mbr_lock_wait(lock);
}
MBR_INLINE void mbr_lock_drop(struct mbr_lock *lock) {
    if (__builtin_expect(mbr_threaded, 0))
        __atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

/* Make room for `bytes`; null only if the system has no memory left. Old contents are lost. */
MBR_INLINE void *mbr_buffer_fit(struct mbr_buffer *buffer, size_t bytes) {
    return __builtin_expect(bytes <= buffer->bytes, 1) ? buffer->data : mbr_buffer_grow(buffer, bytes);
}

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
    struct mbr_apart at = {mbr_clock_wall(), CPU_CARRIED};
    if (__builtin_expect(at.wall_ns - thread->wall_ns > mbr_clocks.cpu_gap_ns, 0))
        at = mbr_stamp_apart(thread, at.wall_ns, begin);
    thread->wall_ns = at.wall_ns;
    return (struct mbr_stamp){at.wall_ns, at.wall_ns - thread->lag_ns, (uint32_t)at.carried};
}
MBR_INLINE struct mbr_stamp mbr_stamp_begin(struct mbr_thread *thread) { return mbr_stamp_read(thread, true); }
MBR_INLINE struct mbr_stamp mbr_stamp_end(struct mbr_thread *thread) { return mbr_stamp_read(thread, false); }

/* Numbers for requests and probes: the first of `count`. The caller holds `mbr_lock`, as for what follows. */
MBR_INLINE uint32_t mbr_request_take(uint32_t count) {
    uint64_t first = mbr_shared.next_request;
    mbr_shared.next_request = first + count; /* mbr_file_grow sees to it that 32 bits are enough */
    return (uint32_t)first;
}

/* Reserve `count` records in a row and return the index of the first. */
MBR_INLINE uint64_t mbr_reserve(struct mbr_thread *thread, uint64_t count) {
    uint64_t slot = mbr_shared.next_slot, end = slot + count;
    mbr_shared.next_slot = end;
    thread->miss_count = 0;
    if (__builtin_expect(end - thread->window_slot > MBR_WINDOW_SLOTS, 0)) /* else the space under the window is set aside */
        mbr_file_grow(end);
    return slot - 1;
}

MBR_INLINE uint64_t *mbr_place(struct mbr_thread *thread, uint64_t index) {
    uint64_t within = index + 1 - thread->window_slot;
    if (__builtin_expect(within < MBR_WINDOW_SLOTS, 1))
        return thread->window + within * MBR_RECORD_WORDS;
    return mbr_place_find(thread, index + 1);
}

MBR_INLINE uint64_t mbr_pair(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* Fill a reserved record. The kind, in the first word, is stored last: a record is whole or of kind 0. */
MBR_INLINE struct mbr_open mbr_put(struct mbr_thread *thread, uint64_t index, struct mbr_record record) {
    const uint64_t words[MBR_RECORD_WORDS] = {
        mbr_pair(record.kind | record.flags << 8 | record.thread << 16, record.comm),
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
#pragma GCC unroll 8
    for (int i = 1; i < MBR_RECORD_WORDS; i++)
        if (i != 3)
            place[i] = words[i];
    uint32_t *request_and_check = (uint32_t *)(place + 3);
    request_and_check[0] = record.request;
    request_and_check[1] = (uint32_t)(sum >> 32);
    __atomic_store_n(place, words[0], __ATOMIC_RELEASE);
    return (struct mbr_open){place, sum, words[6], words[7]};
}

/* Write `record` behind all that was reserved before. */
MBR_INLINE struct mbr_open mbr_append(struct mbr_thread *thread, struct mbr_record record) {
    mbr_lock_take(&mbr_lock);
    uint64_t index = mbr_reserve(thread, 1);
    mbr_lock_drop(&mbr_lock);
    return mbr_put(thread, index, record);
}

/* Set spans and aux of a record in the thread's window. */
MBR_INLINE void mbr_patch(struct mbr_open *open, uint32_t wall_span_ns, uint32_t cpu_span_ns, uint64_t aux) {
    uint64_t *place = open->place;
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
