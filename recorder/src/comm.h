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

/* Keeps the group of the world: that of MPI_COMM_WORLD, or of the process set mpi://WORLD of the session at this
 * address. Returns the caller's rank and the size of the world; false if MPI does not report them. */
bool mbr_world_find(mbr_word session, int *rank, int *size);

/* Writes the Comm records of MPI_COMM_WORLD and MPI_COMM_SELF, which a program that has sessions only
 * cannot use. */
bool mbr_comms_setup(struct mbr_thread *thread, struct mbr_stamp stamp, int world);

/* MPI_Init has returned: its communicators can be used. */
void mbr_world_joined(void);

/* The last call of MPI follows. */
void mbr_world_left(void);

/* Looks up the table; false if it is not there. */
bool mbr_comm_search(struct mbr_thread *thread, mbr_word word);

/* The communicator of a handle, or null if its creation was not recorded or it has members outside
 * of the world. Valid until the thread's next lookup. */
MBR_INLINE const struct mbr_comm *mbr_comm_find(struct mbr_thread *thread, mbr_word word) {
    if (__builtin_expect(thread->comm_word != word, 0) && !mbr_comm_search(thread, word))
        return NULL;
    return &thread->comm;
}

/* Records a new communicator; false if it cannot be. `parent` is null if the members have no common one;
 * `like` is queried instead of the new handle where that is not ready yet (MPI_Comm_idup); `seed`
 * distinguishes those that one parent, or the same members, may create at once. */
bool mbr_comm_made(struct mbr_thread *thread, const struct mbr_stamp *begin, const struct mbr_end *end, mbr_word handle,
                   const mbr_word *parent, bool like, uint64_t seed);

/* A communicator is about to be freed: writes the record, which `open` updates, and no call finds it any more. Null
 * if it is not recorded. Then MPI has freed it, or not. */
struct mbr_comm *mbr_comm_leaves(struct mbr_thread *thread, const struct mbr_stamp *begin, mbr_word handle, struct mbr_open *open);
void mbr_comm_left(struct mbr_comm *comm);
void mbr_comm_stays(struct mbr_comm *comm, mbr_word handle);

/* The topology of a communicator: its number in the trace, 0 if there is none or MPI does not tell the neighbours, and
 * how many of them a rank has. */
struct mbr_topology {
    int form, sources, destinations;
};
struct mbr_topology mbr_comm_topology(mbr_word handle, int rank);

#endif
