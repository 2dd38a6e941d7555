// SPDX-License-Identifier: Apache-2.0 OR MIT
// Construction of datatypes: a list of blocks in the order of the type map.

#ifndef MB_DATATYPE_H
#define MB_DATATYPE_H

#include "internal.h"

struct mb_type *mb_type_new(void);
// Appends `count` copies of a datatype, `at` bytes from the origin and one extent apart.
void mb_type_append(struct mb_type *type, const struct mb_type *old, ptrdiff_t at, size_t count);
MPI_Datatype mb_type_finish(struct mb_type *type);

#endif
