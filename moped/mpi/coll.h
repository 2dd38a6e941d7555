// SPDX-License-Identifier: Apache-2.0 OR MIT
// Checks that the collective calls share.

#ifndef MB_COLL_H
#define MB_COLL_H

#include "internal.h"

// An intracommunicator, or an error.
int mb_coll_check(const char *call, MPI_Comm handle, struct mb_comm **comm);
int mb_coll_check_root(const char *call, struct mb_comm *comm, int root);
// What the call returns after its messages.
int mb_coll_result(const char *call, struct mb_comm *comm, int error);

static inline void *mb_element(const void *buffer, const struct mb_type *type, ptrdiff_t index)
{
    return (unsigned char *)buffer + index * mb_extent(type);
}

#endif
