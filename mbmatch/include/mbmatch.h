/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * mbmatch: message matching for MPI libraries and libfabric providers.
 *
 * A matcher holds the posted-receive queue (PRQ) and the unexpected-message queue (UMQ) of one receiver. A message has
 * 64 match bits and a source. A receive or a probe has 64 match bits, 64 ignore bits (a set bit is not compared), and a
 * source or any source. Every match takes the oldest entry that fits.
 *
 * Threads: one thread at a time may use a matcher, and a probe is a use. Threads that share a matcher need a lock,
 * which they hold during the call and need not hold between calls, except between the two halves of a post or an
 * arrival. A matcher is tied to no thread: it may be created, used and destroyed by different ones. Different matchers
 * share no state, and mbmatch_version and mbmatch_strerror may be called at any time. No function waits, blocks or
 * takes a lock, unless the caller's allocator does. A callback runs in the calling thread and must not use the matcher.
 * No function may be called from a signal handler that may have interrupted another one on the same matcher.
 *
 * Memory: an empty matcher takes less than 256 bytes until its first entry. Entries are kept in pools that grow in
 * steps and are freed by mbmatch_shrink or mbmatch_destroy. After mbmatch_reserve no call allocates until a queue holds
 * more entries. A call that runs out of memory leaves the matcher unchanged.
 *
 * User pointers: `user` is the caller's own pointer, usually to its request or message. The matcher returns it with the
 * match and never dereferences it. It may be NULL.
 */
#ifndef MBMATCH_H
#define MBMATCH_H

#include <stddef.h>
#include <stdint.h>

#define MBMATCH_VERSION_MAJOR 0
#define MBMATCH_VERSION_MINOR 1
#define MBMATCH_VERSION_PATCH 0
/* One number that grows with the version: 1.2.3 is 10203. */
#define MBMATCH_VERSION (MBMATCH_VERSION_MAJOR * 10000 + MBMATCH_VERSION_MINOR * 100 + MBMATCH_VERSION_PATCH)

/* Marks the functions that the shared library exports. */
#ifndef MBMATCH_API
#if defined(_WIN32) && defined(MBMATCH_SHARED)
#define MBMATCH_API __declspec(dllimport)
#elif defined(__GNUC__)
#define MBMATCH_API __attribute__((visibility("default")))
#else
#define MBMATCH_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mbmatch mbmatch_t;

/* Names a queued receive or message until it leaves its queue; never 0. A stale handle is refused: it never names
 * another entry. */
typedef uint64_t mbmatch_handle_t;

typedef struct mbmatch_envelope {
	uint64_t bits;
	uint32_t source; /* a number of the caller's; see MBMATCH_SOURCE_UNKNOWN */
} mbmatch_envelope_t;

/* The source of a message whose sender has no number yet; no process may have this number. Receives from any source
 * accept the message, those that name a process do not, until mbmatch_change_source gives the number. */
#define MBMATCH_SOURCE_UNKNOWN UINT32_MAX

typedef struct mbmatch_pattern {
	uint64_t bits;       /* bits set in `ignore` have no meaning */
	uint64_t ignore;     /* 0: all bits are compared */
	uint32_t source;     /* no meaning with `any_source` */
	uint32_t any_source; /* not 0: the source is not compared */
} mbmatch_pattern_t;

typedef struct mbmatch_message {
	void *user;
	mbmatch_envelope_t envelope;
} mbmatch_message_t;

/* A posted receive in its queue. The handle need not equal the one that mbmatch_post wrote; both name the receive.
 * Match bits that are ignored may be zero. */
typedef struct mbmatch_queued_receive {
	mbmatch_handle_t handle;
	void *user;
	mbmatch_pattern_t pattern;
} mbmatch_queued_receive_t;

/* An unexpected message in its queue. The handle need not equal the one that mbmatch_arrive wrote; both name it. */
typedef struct mbmatch_queued_message {
	mbmatch_handle_t handle;
	mbmatch_message_t message;
} mbmatch_queued_message_t;

/* What becomes of a visited entry. */
typedef enum mbmatch_visit {
	MBMATCH_VISIT_KEEP = 0,   /* it stays in its queue */
	MBMATCH_VISIT_REMOVE = 1, /* it is removed */
	MBMATCH_VISIT_STOP = 2    /* it stays, and no further entry is visited */
} mbmatch_visit_t;

/* Called with the `context` of the caller; must not use the matcher. Returns an mbmatch_visit_t. */
typedef int (*mbmatch_visit_receive_t)(void *context, const mbmatch_queued_receive_t *receive);
typedef int (*mbmatch_visit_message_t)(void *context, const mbmatch_queued_message_t *message);

/* Called with the user pointer of a removed entry; must not use the matcher. */
typedef void (*mbmatch_removed_t)(void *context, void *user);

/* Returns memory of so many bytes and of this alignment, a power of two; or NULL, which is out of memory. */
typedef void *(*mbmatch_allocate_t)(void *context, size_t bytes, size_t alignment);
/* Takes memory back, with the numbers that it was allocated with; never NULL. */
typedef void (*mbmatch_release_t)(void *context, void *memory, size_t bytes, size_t alignment);

/* How a matcher is created. Begin with MBMATCH_OPTIONS_DEFAULT, and change members by name. */
typedef struct mbmatch_options {
	size_t size;                 /* sizeof(mbmatch_options_t) */
	const char *structure;       /* names the data structure, for example "list"; NULL: the default, "adaptive" */
	size_t limit_bytes;          /* most bytes for both queues, MBMATCH_NO_LIMIT for none; beyond it, NO_MEMORY */
	mbmatch_allocate_t allocate; /* all memory comes from here, that of the matcher too; NULL: malloc */
	mbmatch_release_t release;   /* NULL if and only if `allocate` is */
	void *context;               /* passed to both */
} mbmatch_options_t;

#define MBMATCH_NO_LIMIT SIZE_MAX
#define MBMATCH_OPTIONS_DEFAULT { sizeof(mbmatch_options_t), NULL, MBMATCH_NO_LIMIT, NULL, NULL, NULL }

/* What happened in one queue since mbmatch_start_counters. */
typedef struct mbmatch_queue_counters {
	uint64_t length;         /* entries now */
	uint64_t longest;        /* most entries at once */
	uint64_t appended;       /* entries appended */
	uint64_t searches;       /* of the receives by messages, of the messages by receives and probes */
	uint64_t compared;       /* entries compared in all searches; depends on the structure */
	uint64_t longest_search; /* most entries compared in one search */
} mbmatch_queue_counters_t;

/* What a function returns. Errors are negative. No other value is returned. */
typedef enum mbmatch_status {
	MBMATCH_OK = 0,         /* the function did what it is for */
	MBMATCH_MATCHED = 1,    /* an entry matched, and left its queue unless by probe */
	MBMATCH_QUEUED = 2,     /* post, arrive, queue_...: the new entry was appended to its queue */
	MBMATCH_NO_MATCH = 3,   /* take_receive, probe, mprobe: no queued entry matches */
	MBMATCH_STALE = 4,      /* cancel, discard, change_source: the handle names no queued entry */
	MBMATCH_OFF = 5,        /* counters: counting is off */
	MBMATCH_INVALID = -1,   /* a required pointer is NULL, no structure has this name, or options are wrong */
	MBMATCH_NO_MEMORY = -2, /* out of memory; the matcher is unchanged */
	MBMATCH_INTERNAL = -3   /* a defect of mbmatch; only mbmatch_destroy may follow */
} mbmatch_status_t;

/* The MBMATCH_VERSION of the library that runs, to be compared with that of the header. */
MBMATCH_API int mbmatch_version(void);

/* What a status means, in English; never NULL. */
MBMATCH_API const char *mbmatch_strerror(int status);

/*
 * Creates an empty matcher, *matcher. `structure` names the data structure ("adaptive", "list", ...); NULL selects the
 * default, "adaptive". Returns OK, INVALID or NO_MEMORY.
 */
MBMATCH_API mbmatch_status_t mbmatch_create(const char *structure, mbmatch_t **matcher);

/* As mbmatch_create, with options, all of which are copied. INVALID also if options->size is another one, or only one
 * of `allocate` and `release` is NULL. */
MBMATCH_API mbmatch_status_t mbmatch_create_with(const mbmatch_options_t *options, mbmatch_t **matcher);

/* Frees a matcher and all its entries. NULL is allowed. */
MBMATCH_API void mbmatch_destroy(mbmatch_t *matcher);

/* Below, every output pointer (`message`, `receive`, `handle`, `user`, `removed`, `count`, `posted`, `unexpected`) may
 * be NULL, and is written only with the status that names it. Each function may also return INVALID and INTERNAL. */

/*
 * Posts a receive. MATCHED: it took the oldest message that it accepts, *message. QUEUED: it waits, *handle names it.
 * NO_MEMORY: it was not posted.
 */
MBMATCH_API mbmatch_status_t mbmatch_post(mbmatch_t *matcher, const mbmatch_pattern_t *pattern, void *user,
                                          mbmatch_message_t *message, mbmatch_handle_t *handle);

/*
 * Delivers an arriving message. MATCHED: it took the oldest receive that accepts it, whose user pointer is *receive.
 * QUEUED: it is unexpected, *handle names it. NO_MEMORY: it was not queued.
 */
MBMATCH_API mbmatch_status_t mbmatch_arrive(mbmatch_t *matcher, const mbmatch_envelope_t *envelope, void *user,
                                            void **receive, mbmatch_handle_t *handle);

/*
 * The two halves of mbmatch_arrive, for a library that allocates nothing for a message before it knows that no receive
 * accepts it. The second half does not search: between the halves nothing may be posted that accepts the message.
 */

/* MATCHED: the oldest receive that accepts the message left its queue, *receive is its user pointer. NO_MATCH: none. */
MBMATCH_API mbmatch_status_t mbmatch_take_receive(mbmatch_t *matcher, const mbmatch_envelope_t *envelope,
                                                  void **receive);

/* QUEUED: the message is unexpected, *handle names it. NO_MEMORY: it was not queued. */
MBMATCH_API mbmatch_status_t mbmatch_queue_message(mbmatch_t *matcher, const mbmatch_envelope_t *envelope, void *user,
                                                   mbmatch_handle_t *handle);

/*
 * The second half of mbmatch_post, of which mbmatch_mprobe is the first. It does not search: no message that the
 * receive accepts may be queued. QUEUED: it waits, *handle names it. NO_MEMORY: it was not posted.
 */
MBMATCH_API mbmatch_status_t mbmatch_queue_receive(mbmatch_t *matcher, const mbmatch_pattern_t *pattern, void *user,
                                                   mbmatch_handle_t *handle);

/* Removes a posted receive. OK: *user is its user pointer. STALE: it is not queued any more. */
MBMATCH_API mbmatch_status_t mbmatch_cancel(mbmatch_t *matcher, mbmatch_handle_t receive, void **user);

/* Removes an unexpected message, for example after its sender failed. OK: *user is its user pointer. STALE: it is not
 * queued any more. */
MBMATCH_API mbmatch_status_t mbmatch_discard(mbmatch_t *matcher, mbmatch_handle_t message, void **user);

/* Finds the oldest message that `pattern` accepts and leaves it queued. MATCHED: it is *message, and *handle names it.
 * NO_MATCH: none. */
MBMATCH_API mbmatch_status_t mbmatch_probe(mbmatch_t *matcher, const mbmatch_pattern_t *pattern,
                                           mbmatch_message_t *message, mbmatch_handle_t *handle);

/* As mbmatch_probe, and removes the message from its queue. */
MBMATCH_API mbmatch_status_t mbmatch_mprobe(mbmatch_t *matcher, const mbmatch_pattern_t *pattern,
                                            mbmatch_message_t *message);

/*
 * Changes the source of an unexpected message, for example of one from MBMATCH_SOURCE_UNKNOWN whose sender has become
 * known. MATCHED: the oldest posted receive that accepts it from there took it; both left their queues, *receive and
 * *user are the user pointers of receive and message. OK: it stays queued, as old as before. STALE: it is not queued
 * any more. Allocates nothing. MPI's order holds if the messages of a process are changed oldest first, and none is
 * delivered from its number before that.
 */
MBMATCH_API mbmatch_status_t mbmatch_change_source(mbmatch_t *matcher, mbmatch_handle_t message, uint32_t source,
                                                   void **receive, void **user);

/*
 * Calls `visit` with the posted receives, oldest first, and removes those for which it returns MBMATCH_VISIT_REMOVE.
 * OK: *removed is their number. NO_MEMORY: none was
 * visited. INVALID also if `visit` returned something else, at which the visit stopped; earlier removals stand.
 */
MBMATCH_API mbmatch_status_t mbmatch_visit_receives(mbmatch_t *matcher, mbmatch_visit_receive_t visit, void *context,
                                                    size_t *removed);

/* As mbmatch_visit_receives, with the unexpected messages. */
MBMATCH_API mbmatch_status_t mbmatch_visit_messages(mbmatch_t *matcher, mbmatch_visit_message_t visit, void *context,
                                                    size_t *removed);

/*
 * Removes the posted receives that accept nothing but messages that `within` accepts: those of a freed communicator
 * (`bits` its context, `ignore` the other bits, any source), those that name a failed process (`ignore` all bits,
 * `source` the process), or all. `removed`, if not NULL, is called with each, oldest first, before it is removed. OK:
 * *count is their number. NO_MEMORY: none was removed.
 */
MBMATCH_API mbmatch_status_t mbmatch_remove_receives(mbmatch_t *matcher, const mbmatch_pattern_t *within,
                                                     mbmatch_removed_t removed, void *context, size_t *count);

/* Removes the unexpected messages that `within` accepts; else as mbmatch_remove_receives. */
MBMATCH_API mbmatch_status_t mbmatch_remove_messages(mbmatch_t *matcher, const mbmatch_pattern_t *within,
                                                     mbmatch_removed_t removed, void *context, size_t *count);

/* Reserves memory for this many receives and messages in total. Returns OK or NO_MEMORY. */
MBMATCH_API mbmatch_status_t mbmatch_reserve(mbmatch_t *matcher, size_t posted, size_t unexpected);

/* The number of queued receives and of queued messages. Returns OK. */
MBMATCH_API mbmatch_status_t mbmatch_lengths(const mbmatch_t *matcher, size_t *posted, size_t *unexpected);

/* The bytes allocated for each queue, whether in use or not. Returns OK. */
MBMATCH_API mbmatch_status_t mbmatch_memory(const mbmatch_t *matcher, size_t *posted, size_t *unexpected);

/* Frees memory that no entry needs, as far as entries need not move: all of a queue that is empty. Handles stay valid,
 * and stale ones stay stale. Returns OK. */
MBMATCH_API mbmatch_status_t mbmatch_shrink(mbmatch_t *matcher);

/* Starts counting, from zero. Returns OK or NO_MEMORY. Counting that is off takes no instruction; while it is on, each
 * operation searches twice. */
MBMATCH_API mbmatch_status_t mbmatch_start_counters(mbmatch_t *matcher);

/* Stops counting. Returns OK. */
MBMATCH_API mbmatch_status_t mbmatch_stop_counters(mbmatch_t *matcher);

/* The counters of each queue. OK, or OFF: counting is off. */
MBMATCH_API mbmatch_status_t mbmatch_counters(const mbmatch_t *matcher, mbmatch_queue_counters_t *posted,
                                              mbmatch_queue_counters_t *unexpected);

#ifdef __cplusplus
}
#endif

#endif
