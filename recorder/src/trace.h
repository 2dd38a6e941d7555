/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Records, clocks and the state of a thread, for writing the file of one rank.
 * Contract: spec/trace.md. The layout mirrors workbench/trace/src/record.rs and shares no code with
 * it.
 * Cost: eight stores and at most nine multiplications per record; no allocation, and a system call
 * only once per window.
 */
#ifndef MBR_TRACE_H
#define MBR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum mbr_kind {
    INIT = 1, FINALIZE, SEND, RECV, DONE, WAIT, PROBE, MISS, CANCEL, FREE, COLLECTIVE, COMM, COMM_FREE, EXTRA, OTHER,
    THREAD, SITE, TOPOLOGY, PARTITION
};

enum mbr_flag {
    BLOCKING = 1, PERSISTENT = 2, SYNCHRONOUS = 4, CANCELLED = 4, BUFFERED = 8, FAILED = 8, READY = 16, MATCHED = 16, UNKNOWN = 16,
    MISS_PROBE = 32, VECTOR = 32, PARTITIONED = 32, SENDRECV = 64, CPU_CARRIED = 128
};

/* Special ranks and tags in the trace, independent of the constants of the MPI library. */
enum { TRACE_ANY_SOURCE = -1, TRACE_ANY_TAG = -2, TRACE_PROC_NULL = -3, TRACE_ROOT = -4, TRACE_NO_ROOT = -1 };
/* A negative number that is not a constant of MPI. Never written. */
enum { TRACE_INVALID = INT32_MIN };

/* A record before it is written. Its fields are whole words, so that it stays in registers: storing
 * half a word and loading the whole word stalls the processor. `mbr_put` packs it into the 64 bytes
 * of the file. */
struct mbr_record {
    uint32_t kind, flags;
    uint64_t origin; /* thread and communicator: see mbr_origin */
    int32_t peer, tag;
    uint64_t bytes;
    uint32_t request;
    uint64_t wall_ns, cpu_ns, spans;
    uint64_t aux;
};

/* Timestamps of both clocks. `carried` is CPU_CARRIED or 0. */
struct mbr_stamp {
    uint64_t wall_ns, cpu_ns;
    uint32_t carried;
};

/* The spans of a call up to a timestamp, as stored in a record, and `carried` of that timestamp.
 * Two words, so that they are returned in registers. */
struct mbr_spans {
    uint64_t spans, carried;
};

/* Timestamps at the return of a call. */
struct mbr_end {
    struct mbr_stamp stamp;
    uint64_t spans;
};

/* A written record that can still be updated while the thread keeps its window: its address, the
 * 64-bit sum that its checksum is taken from, and the words that can change. */
struct mbr_open {
    uint64_t *place, sum, spans, aux;
};

/* Memory of one thread that grows by doubling (mmap) and is never returned before the thread ends.
 */
struct mbr_buffer {
    void *data;
    size_t bytes;
};

/* The data of a communicator that calls need; filled by comm.c. */
struct mbr_comm {
    uint64_t origin; /* `origin` of records, for the thread that looked it up */
    uint64_t *sent;  /* sends so far by destination */
    uint64_t identity;
    uint32_t peers, number, size;
    int32_t rank;
    bool inter;
};

/* Assumed: polling loops alternate between few calls. One that probes more sources in turn writes a
 * record for each. */
enum { MISS_KINDS = 16 };

/* A word that no argument has: neither a pointer nor a sign-extended or zero-extended 32-bit
 * handle. The cached data of a handle is keyed by the raw argument. The upper half of a 32-bit
 * handle is undefined, which at worst costs a table lookup. */
#define MBR_NO_WORD (UINT64_C(1) << 63 | 1)

/* A datatype: the raw argument that named it, and the size of one element. */
struct mbr_type {
    uint64_t word, size;
};

/* The gaps between polls, ns; `least` and `median` are 0 before the first one. */
enum { MBR_EXACT_GAPS = 31 };
struct mbr_gaps {
    uint32_t seen, least, median, sorted[MBR_EXACT_GAPS];
};

struct mbr_miss {
    struct mbr_record sum;
    struct mbr_open open;
    struct mbr_gaps gaps;
};

/* Values of `pass`: NEW before the first call of a thread, INSIDE when the thread ended. Between
 * calls it is an even generation, and one more within a call. */
enum mbr_pass { NEW, INSIDE, FIRST_GENERATION };

enum { MBR_RECORD_WORDS = 8 };

/* The fields that every call needs come first, in two cache lines. */
struct mbr_thread {
    _Alignas(64) uint64_t pass;
    uint64_t wall_ns;                   /* newest timestamp */
    uint64_t lag_ns;                    /* wall time minus CPU time of this thread, when both were last read */
    uint64_t near_end;                  /* end of the slots that can be reserved on the fast path (mbr_is_near) */
    uintptr_t window_base;              /* address that slot 0 would have if the window contained it */
    uint64_t comm_word;                 /* the argument that named `comm` */
    struct mbr_comm comm;               /* most recently used communicator */
    struct mbr_type type;               /* most recently used small datatype */
    uint64_t origin;                    /* `origin` of records without communicator */
    uint32_t miss_count;                /* newest records of this thread that are Misses and can be incremented */
    struct mbr_type large_type;         /* most recently used large datatype */
    uint64_t *window;                   /* mapped window of this thread, null if it has none */
    uint64_t window_slot;               /* first slot in it; slot = record index + 1, slot 0 is the header */
    struct mbr_buffer words, statuses;
    uint64_t polled_ns;                 /* return of the newest poll without result */
    uint64_t polled_handle;             /* request that it named, and its number */
    uint32_t polled_number;
    uint64_t nowhere[MBR_RECORD_WORDS]; /* receives records after recording has stopped */
    struct mbr_miss misses[MISS_KINDS];
};

extern _Thread_local struct mbr_thread mbr_self __attribute__((tls_model("initial-exec")));

/* The program asked for MPI_THREAD_MULTIPLE: shared state needs its locks. */
extern bool mbr_threaded;
extern int mbr_rank;
/* Generation of cached handles: it increases when a communicator or datatype is freed. MBR_OFF is
 * added unless recording is active. A call is recorded on the fast path if the thread's pass equals
 * `mbr_generation`. This one comparison excludes all other cases: recording off, a call from within
 * MPI, the first call of a thread, a freed handle. */
#define MBR_OFF (UINT64_C(1) << 63)
#define MBR_GENERATION_STEP 2
extern uint64_t mbr_generation;

/* Spin lock. Costs a predicted branch in programs without MPI_THREAD_MULTIPLE. */
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
/* Create the file of `rank`; `false` (after a warning) on failure. */
bool mbr_file_create(const char *dir, int rank, int world, uint64_t run_id, uint64_t epoch_ns);
/* The Finalize record was written: close the trace, and do not record. */
void mbr_file_finalize(void);
/* MPI is used again after its last finalization (MPI_Session_init): drop the Finalize record and continue.
 * Returns false if the recording had stopped. */
bool mbr_file_resume(void);
/* The program calls MPI_Abort: the header says so. */
void mbr_file_abort(void);
/* Pass on to the file what this thread has written; on Linux nothing is left to do. */
void mbr_file_write(void);
/* Tell the launcher why this MPI library cannot be recorded, or warn where there is none (recorder/docs/recorder.md). */
void mbr_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Append one letter to the launcher's notes in `dir`, if it keeps any (recorder/docs/recorder.md). */
void mbr_note(const char *dir, char letter);
/* Stop recording; the application continues. Only the first call warns. */
void mbr_stop(const char *reason);
bool mbr_stopped(void);
/* Gives the thread a slot (spec/trace.md, T-20); false if there is none, and recording has stopped. */
bool mbr_thread_setup(struct mbr_thread *thread);
/* Discard the cached handles of a thread. */
void mbr_thread_forget(struct mbr_thread *thread);

/* Write `head` and Extra records with `count` words after it, last record first. */
struct mbr_open mbr_put_words(struct mbr_thread *thread, struct mbr_record head, const uint64_t *words, uint64_t count);

/* A record and the words after it. */
struct mbr_group {
    struct mbr_record head;
    const uint64_t *words;
    uint64_t count;
};

/* Write two records with their words in one reservation: no other record is between them. */
void mbr_put_both(struct mbr_thread *thread, const struct mbr_group *first, const struct mbr_group *second);

/* A slot of the file and its address. Two words, so that it is returned in registers. */
struct mbr_spot {
    uint64_t slot, *place;
};

/* Address of a slot outside the thread's window; `nowhere` after recording has stopped. */
uint64_t *mbr_place_find(struct mbr_thread *thread, uint64_t slot);
/* Allocate file space up to this slot, or stop. The caller holds `mbr_lock` if there are threads.
 */
void mbr_file_grow(uint64_t slots);
/* Timestamps in the uncommon cases: a gap long enough for the CPU clock's system call, a clock that
 * went back, no counter. */
void mbr_begin_far(struct mbr_thread *thread, uint64_t now, struct mbr_stamp *begin);
struct mbr_spans mbr_end_far(struct mbr_thread *thread, uint64_t now, uint64_t begin_wall_ns);

/* --- fast path of every call. Always inlined: a record stored to memory in parts and loaded in
 * words would stall --- */

#define MBR_INLINE static inline __attribute__((always_inline))

/* A window of the file, 256 KiB: large enough that mapping it is cheap per record, small enough for
 * hundreds of threads. On the chip, where it is written, it is the most that one call of the kernel's host takes. */
#ifdef MBR_CHIP
enum { MBR_WINDOW_SLOTS = 64 };
#else
enum { MBR_WINDOW_SLOTS = 4096 };
#endif
/* Threads that may live at once: `thread` of a record has 16 bits. */
#if defined(MBR_CHIP)
#define MBR_THREAD_SLOTS 1
#elif !defined(MBR_THREAD_SLOTS)
#define MBR_THREAD_SLOTS 65536
#endif
/* `window_slot` of a thread without a window. */
#define MBR_NO_WINDOW (UINT64_C(1) << 63)

/* Keys of the checksum: spec/trace.md, T-13. */
static const uint64_t mbr_check_keys[MBR_RECORD_WORDS + 1] = {
    0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1, 0x082efa98ec4e6c89, 0x452821e638d01377,
    0xbe5466cf34e90c6d, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917, 0x9216d5d98979fb1b,
};

extern struct mbr_clocks {
    bool counter;        /* read the processor's counter, not clock_gettime */
    uint64_t base_ticks; /* ticks at wall time 0 */
    uint64_t scale;      /* ns per tick, 8.56 fixed point */
    uint64_t near_ns;    /* gaps below this need only the counter: `cpu_gap_ns`, or 0 if the counter is unusable */
    uint64_t cpu_gap_ns; /* gaps above this read the CPU clock of the thread */
} mbr_clocks;

/* State shared by all threads, protected by `mbr_lock` like the tables. */
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

/* Make room for `bytes`; null only if the system is out of memory. Old contents are lost. */
MBR_INLINE void *mbr_buffer_fit(struct mbr_buffer *buffer, size_t bytes) {
    return __builtin_expect(bytes <= buffer->bytes, 1) ? buffer->data : mbr_buffer_grow(buffer, bytes);
}

/* The processor's counter, where there is one. */
#if defined(__x86_64__)
#define MBR_COUNTER
MBR_INLINE uint64_t mbr_counter_read(void) { return __builtin_ia32_rdtsc(); }
#elif defined(MBR_CHIP)
#define MBR_COUNTER
MBR_INLINE uint64_t mbr_counter_read(void) {
    uint64_t time;
    __asm__ volatile("rdtime %0" : "=r"(time));
    return time;
}
#endif

MBR_INLINE uint64_t mbr_clock_ticks(void) {
#ifdef MBR_COUNTER
    if (__builtin_expect(mbr_clocks.counter, 1))
        return mbr_counter_read();
#endif
    return mbr_clock_ns(CLOCK_MONOTONIC);
}

/* Wall time of a counter value. The shift by 8 compensates for the 8 integer bits of `scale`. */
MBR_INLINE uint64_t mbr_clock_wall(uint64_t ticks) {
    return (uint64_t)(((unsigned __int128)((ticks - mbr_clocks.base_ticks) << 8) * mbr_clocks.scale) >> 64);
}

/* Wall time from the counter. Without a usable counter, mbr_begin_far and mbr_end_far replace it.
 */
MBR_INLINE uint64_t mbr_clock_near(void) {
#ifdef MBR_COUNTER
    return mbr_clock_wall(mbr_counter_read());
#else
    return mbr_clock_wall(mbr_clock_ticks());
#endif
}

MBR_INLINE uint64_t mbr_pair(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* The span between two timestamps, saturated. */
static inline uint32_t mbr_span(uint64_t begin, uint64_t end) {
    uint64_t span = end - begin;
    return span > UINT32_MAX ? UINT32_MAX : (uint32_t)span;
}

/* Timestamps before and after a call. In a short gap, CPU time is assumed to advance with wall
 * time: a preempted thread would be away for longer. */
MBR_INLINE struct mbr_stamp mbr_stamp_begin(struct mbr_thread *thread) {
    uint64_t now = mbr_clock_near();
    struct mbr_stamp begin = {now, now - thread->lag_ns, CPU_CARRIED};
    if (__builtin_expect(now - thread->wall_ns >= mbr_clocks.near_ns, 0)) {
        struct mbr_stamp far;
        mbr_begin_far(thread, now, &far);
        begin = far;
    } else {
        thread->wall_ns = now;
    }
    return begin;
}
MBR_INLINE struct mbr_spans mbr_spans_read(struct mbr_thread *thread, uint64_t begin_wall_ns) {
    const uint64_t now = mbr_clock_near(), span = now - begin_wall_ns;
    if (__builtin_expect(span >= mbr_clocks.near_ns, 0))
        return mbr_end_far(thread, now, begin_wall_ns);
    thread->wall_ns = now;
    return (struct mbr_spans){span | span << 32, CPU_CARRIED};
}
MBR_INLINE struct mbr_end mbr_stamp_end(struct mbr_thread *thread, const struct mbr_stamp *begin) {
    const struct mbr_spans spans = mbr_spans_read(thread, begin->wall_ns);
    return (struct mbr_end){{thread->wall_ns, thread->wall_ns - thread->lag_ns, (uint32_t)spans.carried}, spans.spans};
}

/* Take `count` numbers for requests and probes and return the first. The caller holds `mbr_lock`,
 * as for the next function. */
MBR_INLINE uint32_t mbr_request_take(uint32_t count) {
    uint64_t first = mbr_shared.next_request;
    mbr_shared.next_request = first + count; /* mbr_file_grow ensures that 32 bits suffice */
    return (uint32_t)first;
}

/* Reserve `count` records in a row and return the slot of the first. */
MBR_INLINE uint64_t mbr_reserve(struct mbr_thread *thread, uint64_t count) {
    uint64_t slot = mbr_shared.next_slot, end = slot + count;
    mbr_shared.next_slot = end;
    thread->miss_count = 0;
    if (__builtin_expect(end - thread->window_slot > MBR_WINDOW_SLOTS, 0)) /* else the window's space is already allocated */
        mbr_file_grow(end);
    return slot;
}

/* Whether the next slot is in this thread's window and no other thread can be in a call. Then it
 * can be reserved without a lock, its space is allocated, and its address is known. `next_slot` is
 * never below the window. */
MBR_INLINE bool mbr_is_near(const struct mbr_thread *thread) {
    return __builtin_expect(mbr_shared.next_slot < thread->near_end, 1);
}

MBR_INLINE uint64_t *mbr_place_near(const struct mbr_thread *thread, uint64_t slot) {
    return (uint64_t *)(thread->window_base + slot * (MBR_RECORD_WORDS * sizeof(uint64_t)));
}

/* Reserve one slot that is near. */
MBR_INLINE struct mbr_spot mbr_spot_near(struct mbr_thread *thread) {
    uint64_t slot = mbr_shared.next_slot++;
    thread->miss_count = 0;
    return (struct mbr_spot){slot, mbr_place_near(thread, slot)};
}

MBR_INLINE uint64_t *mbr_place(struct mbr_thread *thread, uint64_t slot) {
    if (__builtin_expect(slot - thread->window_slot < MBR_WINDOW_SLOTS, 1))
        return mbr_place_near(thread, slot);
    return mbr_place_find(thread, slot);
}

/* `origin` of a record. */
MBR_INLINE uint64_t mbr_origin(uint32_t thread, uint32_t comm) { return thread << 16 | (uint64_t)comm << 32; }

/* What a word of a record and its slot add to the sum whose upper half is the checksum. A slot is
 * the record index plus one. */
#define MBR_CHECK(word, value) ((uint64_t)(value) * mbr_check_keys[word])
#define MBR_CHECK_SLOT(slot) MBR_CHECK(MBR_RECORD_WORDS, slot)

/* The first word of a record. */
MBR_INLINE uint64_t mbr_head(const struct mbr_record *record) { return record->kind | record->flags << 8 | record->origin; }

/* Fill a reserved record. The kind, in the first word, is stored last: a record is complete or has
 * kind 0. */
MBR_INLINE struct mbr_open mbr_put(struct mbr_spot spot, struct mbr_record record) {
    const uint64_t words[MBR_RECORD_WORDS] = {
        mbr_head(&record),
        mbr_pair((uint32_t)record.peer, (uint32_t)record.tag),
        record.bytes,
        record.request,
        record.wall_ns,
        record.cpu_ns,
        record.spans,
        record.aux,
    };
    uint64_t sum = MBR_CHECK_SLOT(spot.slot);
#pragma GCC unroll 8
    for (int i = 0; i < MBR_RECORD_WORDS; i++)
        sum += MBR_CHECK(i, words[i]);
#pragma GCC unroll 8
    for (int i = 1; i < MBR_RECORD_WORDS; i++)
        if (i != 3)
            spot.place[i] = words[i];
    uint32_t *request_and_check = (uint32_t *)(spot.place + 3);
    request_and_check[0] = record.request;
    request_and_check[1] = (uint32_t)(sum >> 32);
    __atomic_store_n(spot.place, words[0], __ATOMIC_RELEASE);
    return (struct mbr_open){spot.place, sum, words[6], words[7]};
}

/* Fill the reserved record of this slot. */
MBR_INLINE struct mbr_open mbr_put_at(struct mbr_thread *thread, uint64_t slot, struct mbr_record record) {
    return mbr_put((struct mbr_spot){slot, mbr_place(thread, slot)}, record);
}

/* Write `record` in place of the record at this address, which is in the thread's window. */
MBR_INLINE void mbr_replace(struct mbr_thread *thread, uint64_t *place, struct mbr_record record) {
    if (place != thread->nowhere)
        mbr_put((struct mbr_spot){((uint64_t)place - thread->window_base) / (MBR_RECORD_WORDS * sizeof(uint64_t)), place}, record);
}

/* Reserve the next slot and write `record` there. */
MBR_INLINE struct mbr_open mbr_append(struct mbr_thread *thread, struct mbr_record record) {
    if (mbr_is_near(thread))
        return mbr_put(mbr_spot_near(thread), record);
    mbr_lock_take(&mbr_lock);
    uint64_t slot = mbr_reserve(thread, 1);
    mbr_lock_drop(&mbr_lock);
    return mbr_put_at(thread, slot, record);
}

/* Update the word `bytes`; mbr_patch must follow, which stores the checksum. */
MBR_INLINE void mbr_patch_bytes(struct mbr_open *open, uint64_t old, uint64_t bytes) {
    open->sum += MBR_CHECK(2, bytes - old);
    open->place[2] = bytes;
}

/* Update spans and aux of a record in the thread's window. */
MBR_INLINE void mbr_patch(struct mbr_open *open, uint64_t spans, uint64_t aux) {
    uint64_t *place = open->place;
    open->sum += MBR_CHECK(6, spans - open->spans) + MBR_CHECK(7, aux - open->aux);
    open->spans = spans;
    open->aux = aux;
    place[6] = spans;
    place[7] = aux;
    ((uint32_t *)(void *)place)[7] = (uint32_t)(open->sum >> 32);
}

#endif
