/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * mbmatch: the posted receives and unexpected messages of an MPI library or a libfabric provider.
 *
 * A message has 64 match bits and a source. A receive or a probe has match bits, 64 ignore bits (a bit set there is not
 * compared), and a source or any. Every match takes the oldest entry that fits.
 *
 * Threads: a matcher may be used by one thread at a time; whoever shares it brings the lock. A probe counts as use.
 * Different matchers share nothing.
 *
 * Memory: entries are kept in pools that grow in steps and are freed by mbmatch_destroy. mbmatch_reserve grows them
 * ahead, so that no call allocates until there are more entries. Running out of memory is a code, and leaves the matcher
 * as it was.
 *
 * `user` is the caller's own pointer, most often to its request or message. It is given back and never looked at.
 */
#ifndef MBMATCH_H
#define MBMATCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mbmatch mbmatch_t;

/* Names an entry that waits, until it leaves; never 0. A stale one is refused, not mistaken for another entry. */
typedef uint64_t mbmatch_handle_t;

typedef struct mbmatch_envelope {
	uint64_t bits;
	uint32_t source;
} mbmatch_envelope_t;

typedef struct mbmatch_pattern {
	uint64_t bits;       /* those under `ignore` have no meaning */
	uint64_t ignore;     /* 0: all bits are compared */
	uint32_t source;     /* no meaning with `any_source` */
	uint32_t any_source; /* not 0: the source is not compared */
} mbmatch_pattern_t;

typedef struct mbmatch_message {
	void *user;
	mbmatch_envelope_t envelope;
} mbmatch_message_t;

/* What the functions return. */
enum {
	MBMATCH_NONE = 0,         /* nothing matched: the entry waits, or nothing was found; or simply done */
	MBMATCH_MATCHED = 1,      /* an entry matched, or was found */
	MBMATCH_INVALID = -1,     /* a pointer is null, or there is no such structure */
	MBMATCH_NO_MEMORY = -2,   /* the matcher is as it was before the call */
	MBMATCH_INTERNAL = -3     /* a defect of mbmatch; only mbmatch_destroy may follow */
};

/*
 * Makes a matcher. `structure` is how it keeps its entries ("adaptive", "list", ...); NULL is the best, "adaptive".
 * Returns NONE, INVALID or NO_MEMORY.
 */
int mbmatch_create(const char *structure, mbmatch_t **matcher);

/* Frees a matcher and all that waits in it; NULL is allowed. */
void mbmatch_destroy(mbmatch_t *matcher);

/* Below, where a result is written (`message`, `receive`, `handle`, `user`, `posted`, `unexpected`), NULL is allowed. */

/* Posts a receive. MATCHED: it took the oldest message that it accepts, *message. NONE: it waits as *handle. */
int mbmatch_post(mbmatch_t *matcher, const mbmatch_pattern_t *pattern, void *user,
                 mbmatch_message_t *message, mbmatch_handle_t *handle);

/* A message arrives. MATCHED: it took the oldest receive that accepts it, *receive. NONE: it waits as *handle. */
int mbmatch_arrive(mbmatch_t *matcher, const mbmatch_envelope_t *envelope, void *user,
                   void **receive, mbmatch_handle_t *handle);

/* Takes a posted receive back. MATCHED: it did, and *user is its own. NONE: it no longer waits. */
int mbmatch_cancel(mbmatch_t *matcher, mbmatch_handle_t receive, void **user);

/* Takes an unexpected message back, as mbmatch_cancel does a receive: its sender failed, for example. */
int mbmatch_discard(mbmatch_t *matcher, mbmatch_handle_t message, void **user);

/* Finds the oldest message that `pattern` accepts and leaves it there. MATCHED: *message. NONE: there is none. */
int mbmatch_probe(mbmatch_t *matcher, const mbmatch_pattern_t *pattern, mbmatch_message_t *message);

/* The same, and takes it out of matching. */
int mbmatch_mprobe(mbmatch_t *matcher, const mbmatch_pattern_t *pattern, mbmatch_message_t *message);

/* Makes room for so many receives and messages in all. Returns NONE, INVALID or NO_MEMORY. */
int mbmatch_reserve(mbmatch_t *matcher, size_t posted, size_t unexpected);

/* The number of receives and of messages that wait. */
int mbmatch_lengths(const mbmatch_t *matcher, size_t *posted, size_t *unexpected);

/* Bytes that are allocated for either, in use or not. */
int mbmatch_memory(const mbmatch_t *matcher, size_t *posted, size_t *unexpected);

/* What a returned code means; never NULL. */
const char *mbmatch_strerror(int code);

#ifdef __cplusplus
}
#endif

#endif
