/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Communicators: from a handle to the trace's local number, and a Comm record with identity and world ranks when one is made.
 * No communication: the identity is computed alike by all members from what they all know.
 * Cost: a lookup is one comparison for the communicator used last; making one costs O(size).
 */
#ifndef MBR_COMM_H
#define MBR_COMM_H

#include "library.h"
#include "trace.h"

/* Keep the group of the world and write the Comm records of MPI_COMM_WORLD and MPI_COMM_SELF. */
bool mbr_comms_setup(struct mbr_thread *thread, struct mbr_stamp stamp);

/* Looks in the table; false if it is not there. */
bool mbr_comm_search(struct mbr_thread *thread, mbr_word word);

/* The communicator behind a handle, or null if its making was not seen or has members outside of the world.
 * Valid until the thread's next lookup. */
MBR_INLINE const struct mbr_comm *mbr_comm_find(struct mbr_thread *thread, mbr_word word) {
    if (__builtin_expect(thread->comm_word != word, 0) && !mbr_comm_search(thread, word))
        return NULL;
    return &thread->comm;
}

/* A communicator was made: `parent` is null where the members have no common one; `like` replaces the new handle where it
 * cannot be asked yet (MPI_Comm_idup); `tag` tells apart what one parent may make at once. */
void mbr_comm_made(struct mbr_thread *thread, const struct mbr_stamp *begin, mbr_word handle, const mbr_word *parent, bool like,
                   int tag);

/* A communicator is about to be freed. */
void mbr_comm_freed(struct mbr_thread *thread, const struct mbr_stamp *begin, mbr_word handle);

/* Neighbours in a communicator with a topology. */
void mbr_comm_degrees(mbr_word handle, int rank, int *in, int *out);

#endif
