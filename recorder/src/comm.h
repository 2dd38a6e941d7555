/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Communicators: local number of each handle, and a Comm record with identity and world ranks for
 * each new one. No communication: all members compute the identity from data that they share.
 * Cost: a lookup of the most recently used communicator is one comparison; creating one costs
 * O(size).
 */
#ifndef MBR_COMM_H
#define MBR_COMM_H

#include "library.h"
#include "trace.h"

/* Keep the group of the world and write the Comm records of MPI_COMM_WORLD and MPI_COMM_SELF. */
bool mbr_comms_setup(struct mbr_thread *thread, struct mbr_stamp stamp);

/* Looks up the table; false if it is not there. */
bool mbr_comm_search(struct mbr_thread *thread, mbr_word word);

/* The communicator of a handle, or null if its creation was not recorded or it has members outside
 * of the world. Valid until the thread's next lookup. */
MBR_INLINE const struct mbr_comm *mbr_comm_find(struct mbr_thread *thread, mbr_word word) {
    if (__builtin_expect(thread->comm_word != word, 0) && !mbr_comm_search(thread, word))
        return NULL;
    return &thread->comm;
}

/* Records a new communicator. `parent` is null if the members have no common one; `like` is queried
 * instead of the new handle where that is not ready yet (MPI_Comm_idup); `tag` distinguishes those
 * that one parent may create at once. */
void mbr_comm_made(struct mbr_thread *thread, const struct mbr_stamp *begin, mbr_word handle, const mbr_word *parent, bool like,
                   int tag);

/* A communicator is about to be freed. */
void mbr_comm_freed(struct mbr_thread *thread, const struct mbr_stamp *begin, mbr_word handle);

/* Neighbours in a communicator with a topology. */
void mbr_comm_degrees(mbr_word handle, int rank, int *in, int *out);

#endif
