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

struct mbr_miss {
    struct mbr_record sum;
    struct mbr_open open;
};

struct mbr_thread {
    bool ready, inside, dead;
    uint16_t number;
    uint64_t wall_ns, cpu_ns;           /* newest reading of this thread's clocks */
    struct mbr_record *window;          /* this thread's view of the file */
    uint64_t window_slot;               /* first slot in it; slot = record index + 1, slot 0 is the header */
    struct mbr_buffer words, statuses;
    struct mbr_comm comm;               /* the communicator used last */
    uint64_t comm_generation;
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
uint64_t mbr_clock_ticks(void);
uint64_t mbr_clock_ns(clockid_t which);
/* Ticks of the first record's begin become wall time 0. */
void mbr_clock_start(uint64_t begin_ticks);
struct mbr_stamp mbr_stamp_begin(struct mbr_thread *thread);
struct mbr_stamp mbr_stamp_end(struct mbr_thread *thread);

/* Create the file of `rank`; `false` (after a warning) if it cannot be. */
bool mbr_file_create(const char *dir, int rank, int world, uint64_t run_id, uint64_t epoch_ns);
void mbr_file_finalize(void);
/* Give up recording; the application goes on. Only the first call warns. */
void mbr_stop(const char *reason);
bool mbr_stopped(void);
void mbr_thread_setup(struct mbr_thread *thread);

/* Numbers for requests and probes: the first of `count`. */
uint32_t mbr_request_take(uint32_t count);

/* Reserve `count` records in a row and return the index of the first. */
uint64_t mbr_reserve(struct mbr_thread *thread, uint64_t count);
/* Fill a reserved record. */
struct mbr_open mbr_put(struct mbr_thread *thread, uint64_t index, struct mbr_record record);
/* Set spans and aux of a record that was put before. */
void mbr_patch(struct mbr_thread *thread, struct mbr_open *open, uint32_t wall_span_ns, uint32_t cpu_span_ns, uint64_t aux);
/* Write `head` and `count` words behind it, last record first. */
struct mbr_open mbr_put_words(struct mbr_thread *thread, struct mbr_record head, const uint64_t *words, uint64_t count);

/* The span between two readings, saturated. */
static inline uint32_t mbr_span(uint64_t begin, uint64_t end) {
    uint64_t span = end - begin;
    return span > UINT32_MAX ? UINT32_MAX : (uint32_t)span;
}

#endif
