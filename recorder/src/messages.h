/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Sends and receives in general: (buffer, count, type, peer, tag, communicator [, request or status]).
 */
#ifndef MBR_MESSAGES_H
#define MBR_MESSAGES_H

#include "frame.h"
#include "requests.h"

/* What stands behind a persistent request: MPI_Start will write `record`. */
void remember_persistent(struct mbr_record record, uint64_t handle, uint64_t comm_handle, struct mbr_kept *kept);

#endif
