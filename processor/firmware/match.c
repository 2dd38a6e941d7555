// SPDX-License-Identifier: Apache-2.0 OR MIT
// The match function of hemmert2007 figure 1, in a translation unit of its own, so that it is not
// inlined.
//
// With threads, lock coupling (hemmert2007 5.1): a thread acquires the lock of the next item before
// it releases its current one. So no two threads are at one item, and none passes another.

#include "lock.h"
#include "match.h"

struct memd *match(struct memd *list, const struct ptlhdr *hdr, uint32_t src_nid, uint64_t *offset, uint32_t *mlength)
{
    struct memd *next;
    for (struct memd *current = list; current; current = next) {
        if (accepts(current, hdr, src_nid, offset, mlength)) {
            release(current);
            return current;
        }
        next = next_of(current);
        if (next)
            acquire(next);
        release(current);
    }
    return NULL;
}
