// SPDX-License-Identifier: Apache-2.0 OR MIT
// The contract between software and MOPED, a device beside each L2 that matches sends with receives
// and copies the message from one buffer to the other.
//
// After Gu, Lumetta, Kumar and Sun, "MOPED: Orchestrating Interprocess Message Data on CMPs", 2011,
// section 4.1. What the paper does not have is marked "extension".
//
// Ports. A program has one page of ports, at physical MOPED_PORTS + program * 4096, mapped uncached
// at mb_ports() in all its processes. The 8 bytes of rank r are at 8 * r; a page has 512 ranks. The
// address conveys program and rank: a process uses only its own 8 bytes. In them:
//
//   data port, offset 0   load of 4 bytes: reserves a descriptor
//                         store of 8 bytes: descriptor, field and value
//   poll port, offset 4   store of 4 bytes: descriptor and word to be loaded
//                         load of 4 bytes: that word
//
// The paper's processors have addresses of 32 bits. A store to the data port has 8 bytes here because
// a virtual address of 39 bits does not fit into 4 bytes beside descriptor and field. Accesses of
// another width are errors: a load has the value MOPED_RETRY, a store does nothing.
//
// Loads have side effects. They are performed once, when they are the oldest instruction of the hart.
//
// A message. Reserve; store MOPED_ADDRESS and MOPED_LENGTH (not needed for 0 bytes) and MOPED_TAG;
// store MOPED_GO, which completes the descriptor. Fields that are not stored are 0. Messages of a
// process match in the order of their MOPED_GO. Before MOPED_GO the buffer must be in memory: fence
// w,o. The buffer must not be touched until a poll says MOPED_COMPLETE; then fence i,rw. A send
// completes when its receive has the bytes: there is no buffer in between.
//
// A poll. Store descriptor and word to the poll port, and load it. If the process was interrupted
// between the two, another process may have polled: the load has the value MOPED_RETRY, and both
// are repeated. A write to satp of the core drops the stored descriptor too. Descriptors can be used
// from every core: MOPED forwards the accesses of a process that has moved.
//
// Matching, as MPI defines it: a send and a receive of one program, of the same context, to the rank
// of the receive's process, with equal tag and sender unless the receive accepts any. The oldest
// one matches. Collective traffic needs contexts of its own.
//
// Back-off. A refused reservation puts the program into back-off, on all MOPEDs, before the load has
// its value. A descriptor that finds the table of its matching MOPED full does so too. From then on
// no reservation is granted and nothing matches, until MOPED_RESUME. Copies that are under way are
// completed. Software then
//   1. polls its own unmatched descriptors in the order of their MOPED_GO, each until it is
//      MOPED_REVOKED or MOPED_MATCHED (or final), before it sends or receives anything in software;
//      it repeats those that were revoked in software, in this order, and then new operations;
//   2. does the same when the bit of MOPED_BACKOFF is set, before it looks for messages of software;
//   3. returns together: when every rank has seen the back-off and has neither descriptors nor
//      unmatched messages or receives in software, one rank stores MOPED_RESUME, which takes effect
//      when no MOPED has a descriptor of the program; each rank then waits until MOPED_BACKOFF has the
//      bit clear, or a higher episode than before, which is another back-off.
// In the paper the bit clears itself when the last descriptor is gone; a rank that saw nothing of
// the back-off then uses MOPED while its partner waits in software.

#ifndef MB_MOPED_H
#define MB_MOPED_H

#include <stdint.h>

#define MOPED_PORTS 0x20000000ul   // physical address of the ports of program 0
#define MOPED_CONTROL 0x1ffff000ul // physical address of the page of struct moped_control

enum {
    MOPED_PAGE_BYTES = 4096,
    MOPED_PORT_BYTES = 8,
    MOPED_RANKS = 512,    // ranks of a program
    MOPED_DATA_PORT = 0,  // offset in the 8 bytes of a rank
    MOPED_POLL_PORT = 4,
};

// Values of a load from the data port. Others are descriptors, which have 16 bits.
#define MOPED_REFUSED 0xffffffffu // no descriptor: the program is in back-off
// Value of a load from the poll port.
#define MOPED_RETRY 0xffffffffu

// Store to the data port: bits 15..0 descriptor, 19..16 field, 63..20 value.
enum {
    MOPED_FIELD_SHIFT = 16,
    MOPED_VALUE_SHIFT = 20,
    MOPED_VALUE_BITS = 44,
};

// Fields.
enum {
    MOPED_ADDRESS = 0, // virtual address of the buffer, in the address space that made the reservation
    MOPED_LENGTH = 1,  // bytes, 0 to MOPED_LENGTH_MAX: of the message, or of the receive's buffer
    MOPED_TAG = 2,     // bits 31..0 tag (not 0xffffffff), 40..32 rank in the program of the process that receives (a send's)
    MOPED_GO = 3,      // see below; completes the descriptor
    MOPED_CANCEL = 4,  // extension: removes it if it is unmatched; the value has no meaning
    MOPED_RESUME = 5,  // extension: ends the back-off of the program; descriptor and value have no meaning
};
#define MOPED_LENGTH_MAX 0x7ffffffful

// Value of MOPED_GO: bits 15..0 context, 31..16 rank of the sender in the communicator, 34..32 kind,
// 35 any sender, 36 any tag. Any sender and any tag are for all kinds but MOPED_SEND.
enum {
    MOPED_RANK_SHIFT = 16,
    MOPED_KIND_SHIFT = 32,
    MOPED_ANY_RANK_SHIFT = 35,
    MOPED_ANY_TAG_SHIFT = 36,
};

// Kinds.
enum {
    MOPED_SEND = 0,
    MOPED_RECEIVE = 1,
    MOPED_PROBE = 2,         // extension: finds the oldest send that a receive would match, and leaves it
    MOPED_MATCHED_PROBE = 3, // extension: finds it and takes it; state MOPED_FOUND
    MOPED_TAKE = 4,          // extension: receives what this descriptor has found, once its state is
                             // MOPED_FOUND; address and length are stored before
};

// Store to the poll port: bits 15..0 descriptor, 18..16 word.
enum { MOPED_WORD_SHIFT = 16 };

// Words.
enum {
    MOPED_STATE = 0,   // state and bits; a final state frees the descriptor
    MOPED_PEEK = 1,    // extension: the same, but frees nothing
    MOPED_SOURCE = 2,  // extension: sender's rank in the communicator; valid in MOPED_COMPLETE of a
    MOPED_TAGGED = 3,  // receive or probe, and in MOPED_FOUND. Its tag
    MOPED_BYTES = 4,   // and the bytes of the message, also if the receive truncated it
    MOPED_BACKOFF = 5, // of the program (no descriptor): bit 0 back-off, 1 MOPED_DRAINED, 30..2 episode
    MOPED_IN_FLIGHT = 6, // extension: completed descriptors of the MOPED of this core that have not arrived
                         // at their matching MOPED (no descriptor); when 0, a probe finds earlier sends
};
enum {
    MOPED_BACKOFF_BIT = 1,
    MOPED_DRAINED = 2, // in back-off: no MOPED has a descriptor of the program
    MOPED_EPISODE_SHIFT = 2,
};

// States: bits 3..0 of MOPED_STATE and MOPED_PEEK. Those from MOPED_COMPLETE on are final.
enum {
    MOPED_NONE = 0,     // not a descriptor of this process
    MOPED_RESERVED = 1, // no MOPED_GO so far
    MOPED_PENDING = 2,  // not matched, as far as the MOPED of the descriptor knows
    MOPED_MATCHED = 3,  // will be complete
    MOPED_FOUND = 4,    // extension: a matched probe has taken a message; MOPED_TAKE follows
    MOPED_COMPLETE = 8,
    MOPED_REVOKED = 9,     // back-off has removed it; it has matched nothing
    MOPED_CANCELLED = 10,  // extension: MOPED_CANCEL has removed it; it has matched nothing
    MOPED_NO_MESSAGE = 11, // extension: a probe has found none
    MOPED_BAD_BUFFER = 12, // extension: the kernel could not map a page of this or the other buffer
};
enum {
    MOPED_STATE_BITS = 15,
    MOPED_TRUNCATED = 16, // extension: the message is longer than the buffer of the receive
};

// Registers of the kernel, 8 bytes each, of the MOPED of the core that accesses them.
struct moped_control {
    // Page fault that the MOPED waits for; the interrupt request is set while there is one. 0: none.
    // Otherwise bits 63..12 of a virtual address, bit 0 set, bit 1: of a receive's buffer.
    uint64_t fault;       // load
    uint64_t fault_owner; // load: rank in the program in bits 15..0, program in bits 31..16
    uint64_t resolve;     // store: MOPED_MAPPED or MOPED_UNMAPPABLE, for the fault
    // Before a page is unmapped, and after its page table entry was cleared: store the virtual
    // address, in the address space of this core; then load until the value is 0: until no MOPED
    // accesses the page. Faults of this core must be resolved meanwhile.
    uint64_t invalidate; // load, store
    // Completed descriptors of this MOPED that have not arrived at their matching MOPED. Before a
    // process runs on another core, the value must have been 0 since its last instruction.
    uint64_t in_flight; // load
};
enum { MOPED_MAPPED = 0, MOPED_UNMAPPABLE = 1 };

// Accesses of a process; port is the address of its 8 bytes.

static inline uint32_t moped_reserve(uintptr_t port)
{
    return *(volatile uint32_t *)(port + MOPED_DATA_PORT);
}

static inline void moped_store(uintptr_t port, uint32_t descriptor, unsigned field, uint64_t value)
{
    *(volatile uint64_t *)(port + MOPED_DATA_PORT) =
        descriptor | (uint64_t)field << MOPED_FIELD_SHIFT | value << MOPED_VALUE_SHIFT;
}

static inline uint64_t moped_go(unsigned kind, uint32_t context, uint32_t rank, int any_rank, int any_tag)
{
    return context | (uint64_t)rank << MOPED_RANK_SHIFT | (uint64_t)kind << MOPED_KIND_SHIFT |
           (uint64_t)(any_rank != 0) << MOPED_ANY_RANK_SHIFT | (uint64_t)(any_tag != 0) << MOPED_ANY_TAG_SHIFT;
}

static inline uint32_t moped_poll(uintptr_t port, uint32_t descriptor, unsigned word)
{
    volatile uint32_t *poll = (volatile uint32_t *)(port + MOPED_POLL_PORT);
    uint32_t value;
    do {
        *poll = descriptor | (uint32_t)word << MOPED_WORD_SHIFT;
        value = *poll;
    } while (value == MOPED_RETRY);
    return value;
}

#endif
