/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * mbmatch: message matching for MPI libraries and libfabric providers.
 *
 * A matcher holds the posted-receive queue (PRQ) and the unexpected-message queue (UMQ) of one receiver. A message has
 * 64 match bits and a source. A receive or a probe has 64 match bits, 64 ignore bits (a set bit is not compared), and
 * a source or MBMATCH_ANY_SOURCE. Every match takes the oldest entry that fits.
 *
 * Nodes: the caller puts an mbmatch_receive_t into its request and an mbmatch_message_t into its fragment or descriptor,
 * and gets from the node back to the object with MBMATCH_OBJECT. A node need not be initialized. While it is queued, it
 * must not move, and the caller must not change it; a node on the stack is cancelled before its function returns. The
 * bits and the source of a message that was queued are in its node, for a status; those of one that matched when it
 * arrived are the caller's. No function allocates memory for an entry, so that none can
 * fail for lack of it.
 *
 * Memory: a matcher has no memory of its own until a search has passed more than MBMATCH_SHORT entries. It then makes
 * a table for the queue, of 8 to 32 bytes for each different key that waits. Where the allocator returns no memory, the
 * queue is searched as a list: slower, with the same results.
 *
 * Threads: one thread at a time may use a matcher, and a probe is a use. Threads that share one need a lock, which they
 * hold during the call, and between two calls only from the first half of a post or an arrival to the second. Different
 * matchers share no state. No function waits, blocks, or takes a lock, unless the allocator does.
 *
 * Checks: with MBMATCH_CHECK defined, in mbmatch.c and where this header is used, each call verifies the matcher and
 * its arguments; what it finds goes to mbmatch_failed with the file and the line of the call. Without it, a node that is
 * inserted twice, freed or changed while it is queued, or a pattern that the hints exclude, is undefined behaviour.
 */
#ifndef MBMATCH_H
#define MBMATCH_H

#include <stddef.h>
#include <stdint.h>

#define MBMATCH_VERSION_MAJOR 0
#define MBMATCH_VERSION_MINOR 2
#define MBMATCH_VERSION_PATCH 0
/* One number that grows with the version: 1.2.3 is 10203. */
#define MBMATCH_VERSION (MBMATCH_VERSION_MAJOR * 10000 + MBMATCH_VERSION_MINOR * 100 + MBMATCH_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The source of a receive or a probe that accepts every source. A process may not have this number. */
#define MBMATCH_ANY_SOURCE UINT32_MAX
/* The source of a message whose sender has no number yet: only receives from any source accept it, until
 * mbmatch_change_source gives the number. */
#define MBMATCH_UNKNOWN_SOURCE UINT32_MAX

/* Entries that a search of a queue passes before the queue may get a table. */
#ifndef MBMATCH_SHORT
#define MBMATCH_SHORT 16
#endif

/* The kind of a pattern: bit 0 is set for any source, bit 1 if it ignores exactly the tag mask. Patterns that ignore
 * other bits are of kind MBMATCH_MASKED. */
#define MBMATCH_MASKED 4
#define MBMATCH_KINDS 5

typedef struct mbmatch_entry mbmatch_entry_t;

typedef struct mbmatch_link {
	struct mbmatch_link *next, *prev;
} mbmatch_link_t;

/* What receives and messages have in common. `next` is NULL when the node has left its queue. */
struct mbmatch_entry {
	mbmatch_entry_t *next, *prev; /* in the queue, oldest first; circular, with the queue's own entry as its end */
	uint64_t bits;                /* a receive's ignored bits are 0 */
	uint32_t source;
	uint32_t state; /* a receive: its kind in the low three bits, and MBMATCH_STAYS, MBMATCH_INDEXED; a message: bit k
	                   is set while it is in the index of kind k */
};

#define MBMATCH_KIND_BITS 7u
#define MBMATCH_STAYS 8u
#define MBMATCH_INDEXED 16u

typedef struct mbmatch_receive {
	mbmatch_entry_t entry;
	uint64_t compare; /* the bits that are not ignored */
	uint64_t age; /* a number that grows from receive to receive */
	mbmatch_link_t link;
} mbmatch_receive_t;

typedef struct mbmatch_message {
	mbmatch_entry_t entry;
	mbmatch_link_t link[4]; /* one for each kind of pattern but MBMATCH_MASKED */
} mbmatch_message_t;

/* The object of type `type` whose member `member` is the node `node`. */
#define MBMATCH_OBJECT(node, type, member) ((type *) (void *) ((char *) (node) - offsetof(type, member)))

/* Where the memory of tables comes from. */
typedef struct mbmatch_allocator {
	void *(*allocate)(void *context, size_t bytes); /* zeroed and aligned as by calloc, or NULL */
	void (*release)(void *context, void *memory, size_t bytes);
	void *context;
} mbmatch_allocator_t;

/* What happened in one queue since mbmatch_count. */
typedef struct mbmatch_queue_counters {
	uint64_t longest;        /* most entries at once */
	uint64_t appended;       /* entries appended */
	uint64_t searches;       /* of the receives by messages, of the messages by receives and probes */
	uint64_t compared;       /* entries that these searches compare in a list, whatever the index spared */
	uint64_t longest_search; /* most entries of one of them */
} mbmatch_queue_counters_t;

typedef struct mbmatch_counters {
	mbmatch_queue_counters_t posted, unexpected;
} mbmatch_counters_t;

/* A queue. Its end is used as an entry of which only the links exist. */
typedef struct mbmatch_queue {
	mbmatch_entry_t *next, *prev; /* the oldest and the youngest entry */
} mbmatch_queue_t;

struct mbmatch_indexes;

/*
 * A matcher. Its members are documented for debuggers, which walk a stopped process: `magic` and `layout` say that this
 * is a matcher and which version of the layout it has; the entries of a queue are those from `posted.next` by `next`
 * to the address of `posted` itself. Programs use the functions.
 */
typedef struct mbmatch {
	uint32_t magic;           /* MBMATCH_MAGIC */
	uint16_t layout;          /* MBMATCH_LAYOUT */
	uint8_t hints;            /* MBMATCH_NO_ANY_SOURCE and others */
	uint8_t indexed_kinds;    /* bit k: the messages have a table for patterns of kind k */
	mbmatch_queue_t posted;
	mbmatch_queue_t unexpected;
	uint32_t posted_length, unexpected_length;
	uint32_t kinds[MBMATCH_KINDS]; /* posted receives of each kind but 0, whose place has their sum */
	uint32_t limit;                /* most unexpected messages */
	uint64_t key_bits;             /* match bits that are in the keys of tables: all but those of a protocol */
	uint64_t any_tag_bits;         /* of these, those that a receive of any tag compares */
	uint64_t age;                  /* of the next receive */
	struct mbmatch_indexes *indexes; /* NULL until one is needed */
	mbmatch_counters_t *counters;  /* NULL: counting is off */
	const mbmatch_allocator_t *allocator;
} mbmatch_t;

#define MBMATCH_MAGIC UINT32_C(0x6d626d61)
#define MBMATCH_LAYOUT 2

/* Hints: what the caller promises. */
#define MBMATCH_NO_ANY_SOURCE 1u    /* no receive or probe is from any source (mpi_assert_no_any_source) */
#define MBMATCH_NO_ANY_TAG 2u       /* none ignores bits (mpi_assert_no_any_tag) */
#define MBMATCH_ALLOW_OVERTAKING 4u /* a message may take any receive that accepts it (mpi_assert_allow_overtaking) */

/*
 * Makes an empty matcher of the memory at `matcher`. `tag_mask` are the bits that a receive of any tag ignores, for
 * example UINT32_MAX; patterns that ignore other bits than none or these are searched one by one. `hints` are those
 * above, or 0. `allocator` must outlive the matcher; NULL stands for calloc and free.
 */
void mbmatch_init(mbmatch_t *matcher, uint64_t tag_mask, unsigned hints, const mbmatch_allocator_t *allocator);

/*
 * Changes the masks of a matcher whose queues are empty: `tag_mask` as in mbmatch_init, and `protocol`, bits that any
 * pattern may ignore or compare without being searched one by one, such as those for synchronous sends that MPI
 * libraries have in the tags of libfabric. They are not in the keys of tables, so that entries that differ in nothing
 * else are searched one by one.
 */
void mbmatch_masks(mbmatch_t *matcher, uint64_t tag_mask, uint64_t protocol);

/* Frees the tables of a matcher, which mbmatch_init can make anew. Nodes that are queued are left as they are, and belong
 * to the caller. */
void mbmatch_destroy(mbmatch_t *matcher);

/* Frees the tables of the queues that are empty. */
void mbmatch_trim(mbmatch_t *matcher);

/* Bytes of the tables. */
size_t mbmatch_memory(const mbmatch_t *matcher);

/* The MBMATCH_VERSION of mbmatch.c, to be compared with that of the header. */
int mbmatch_version(void);

/* Counts from here on into *counters, which the caller has set to zero; NULL ends it. Counting that is off costs one
 * test an operation; while it is on, each search is made a second time, in the list. */
static inline void mbmatch_count(mbmatch_t *matcher, mbmatch_counters_t *counters)
{
	matcher->counters = counters;
}

/* mbmatch_arrive and mbmatch_queue_message queue no message while so many wait. At first there is no limit. */
static inline void mbmatch_limit(mbmatch_t *matcher, uint32_t messages)
{
	matcher->limit = messages;
}

static inline size_t mbmatch_posted(const mbmatch_t *matcher)
{
	return matcher->posted_length;
}

static inline size_t mbmatch_unexpected(const mbmatch_t *matcher)
{
	return matcher->unexpected_length;
}

/* Whether a node is queued now, after it was given to a function that posts, delivers or queues it. */
static inline int mbmatch_is_posted(const mbmatch_receive_t *receive)
{
	return receive->entry.next != NULL;
}

static inline int mbmatch_is_unexpected(const mbmatch_message_t *message)
{
	return message->entry.next != NULL;
}

/*
 * Visits: the queued nodes, oldest first; NULL after the youngest. A loop that removes nodes takes the next one before
 * it removes one.
 */
static inline mbmatch_entry_t *mbmatch_after(const mbmatch_queue_t *queue, mbmatch_entry_t *next)
{
	return (const void *) next == (const void *) queue ? NULL : next;
}

static inline mbmatch_receive_t *mbmatch_first_receive(const mbmatch_t *matcher)
{
	return (mbmatch_receive_t *) mbmatch_after(&matcher->posted, matcher->posted.next);
}

static inline mbmatch_receive_t *mbmatch_next_receive(const mbmatch_t *matcher, const mbmatch_receive_t *receive)
{
	return (mbmatch_receive_t *) mbmatch_after(&matcher->posted, receive->entry.next);
}

static inline mbmatch_message_t *mbmatch_first_message(const mbmatch_t *matcher)
{
	return (mbmatch_message_t *) mbmatch_after(&matcher->unexpected, matcher->unexpected.next);
}

static inline mbmatch_message_t *mbmatch_next_message(const mbmatch_t *matcher, const mbmatch_message_t *message)
{
	return (mbmatch_message_t *) mbmatch_after(&matcher->unexpected, message->entry.next);
}

/*
 * Posts a receive: returns the oldest message that it accepts, which has left its queue; or NULL, and `receive` is
 * queued. `bits` that are ignored may have any value.
 */
mbmatch_message_t *mbmatch_post(mbmatch_t *matcher, mbmatch_receive_t *receive, uint64_t bits, uint64_t ignore,
                                uint32_t source);

/*
 * Delivers an arriving message: returns the oldest receive that accepts it, which has left its queue; or NULL, and
 * `message` is queued, unless the limit is reached (mbmatch_is_unexpected tells).
 */
mbmatch_receive_t *mbmatch_arrive(mbmatch_t *matcher, mbmatch_message_t *message, uint64_t bits, uint32_t source);

/*
 * The halves of mbmatch_arrive, for a caller that has no node for a message before it knows that no receive accepts it.
 * Between the two, nothing may be posted that accepts the message. mbmatch_queue_message returns 0 if the limit is
 * reached, and else 1.
 */
mbmatch_receive_t *mbmatch_take_receive(mbmatch_t *matcher, uint64_t bits, uint32_t source);
int mbmatch_queue_message(mbmatch_t *matcher, mbmatch_message_t *message, uint64_t bits, uint32_t source);

/*
 * The halves of mbmatch_post; the first is MPI's matched probe. Between the two, no message may arrive that the receive
 * accepts.
 */
mbmatch_message_t *mbmatch_take_message(mbmatch_t *matcher, uint64_t bits, uint64_t ignore, uint32_t source);
void mbmatch_queue_receive(mbmatch_t *matcher, mbmatch_receive_t *receive, uint64_t bits, uint64_t ignore,
                           uint32_t source);

/* The oldest message that a receive would take, which stays queued; NULL if there is none. */
mbmatch_message_t *mbmatch_probe(mbmatch_t *matcher, uint64_t bits, uint64_t ignore, uint32_t source);

/* The oldest receive that a message would take, which stays queued; NULL if there is none. For a caller to whom a match
 * can fail, for example because it has no buffer or credit. */
mbmatch_receive_t *mbmatch_find_receive(mbmatch_t *matcher, uint64_t bits, uint32_t source);

/* A queued receive stays queued when messages match it, until it is cancelled (libfabric's FI_MULTI_RECV). */
static inline void mbmatch_stay(mbmatch_receive_t *receive)
{
	receive->entry.state |= MBMATCH_STAYS;
}

/* Removes a receive, or a message, from its queue. Returns 0 if it is not queued (it has matched, at once or later), and
 * else 1. The node must have been given to a function that posts, delivers or queues it. */
int mbmatch_cancel(mbmatch_t *matcher, mbmatch_receive_t *receive);
int mbmatch_discard(mbmatch_t *matcher, mbmatch_message_t *message);

/*
 * Gives a queued message another source, for example one of MBMATCH_UNKNOWN_SOURCE whose sender has become known.
 * Returns the oldest receive that accepts it from there: both have left their queues. Or NULL: the message is as old as
 * before. Takes constant time if no message of the same bits and new source waits, and is else linear in the younger
 * messages.
 */
mbmatch_receive_t *mbmatch_change_source(mbmatch_t *matcher, mbmatch_message_t *message, uint32_t source);

/*
 * Removes the receives of a freed communicator (`bits` its context, `ignore` the other bits, any source), those that
 * name a failed process (`ignore` all bits, `source` the process), or all: in general, those that accept nothing but
 * messages that the pattern accepts. Hints do not restrict it. `removed`, if it is not NULL, is called with each, oldest first, after it has left the queue, and may free it, but not
 * use the matcher. Returns their number.
 */
size_t mbmatch_remove_receives(mbmatch_t *matcher, uint64_t bits, uint64_t ignore, uint32_t source,
                               void (*removed)(void *context, mbmatch_receive_t *receive), void *context);

/* Removes the messages that a pattern accepts; else as mbmatch_remove_receives. */
size_t mbmatch_remove_messages(mbmatch_t *matcher, uint64_t bits, uint64_t ignore, uint32_t source,
                               void (*removed)(void *context, mbmatch_message_t *message), void *context);

#ifdef MBMATCH_CHECK
/* The place of the call that is checked. */
void mbmatch_at(const char *file, int line);
/* Called with what a check found; prints it and aborts, unless the program defines another one (GCC and Clang). */
void mbmatch_failed(const char *what, const char *file, int line);
#ifndef MBMATCH_SOURCE
#define mbmatch_masks(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_masks(__VA_ARGS__))
#define mbmatch_post(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_post(__VA_ARGS__))
#define mbmatch_arrive(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_arrive(__VA_ARGS__))
#define mbmatch_take_receive(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_take_receive(__VA_ARGS__))
#define mbmatch_queue_message(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_queue_message(__VA_ARGS__))
#define mbmatch_take_message(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_take_message(__VA_ARGS__))
#define mbmatch_queue_receive(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_queue_receive(__VA_ARGS__))
#define mbmatch_probe(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_probe(__VA_ARGS__))
#define mbmatch_find_receive(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_find_receive(__VA_ARGS__))
#define mbmatch_cancel(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_cancel(__VA_ARGS__))
#define mbmatch_discard(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_discard(__VA_ARGS__))
#define mbmatch_change_source(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_change_source(__VA_ARGS__))
#define mbmatch_remove_receives(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_remove_receives(__VA_ARGS__))
#define mbmatch_remove_messages(...) (mbmatch_at(__FILE__, __LINE__), mbmatch_remove_messages(__VA_ARGS__))
#endif
#endif

#ifdef __cplusplus
}
#endif

#endif
