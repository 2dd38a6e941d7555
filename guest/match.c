// SPDX-License-Identifier: Apache-2.0 OR MIT
// The match function of hemmert2007 figure 1, a translation unit of its own: its caller is compiled without a look inside.
//
// With threads, one has the lock of the item it visits and takes that of the next one before it lets go: so no two are at
// one item, and none passes another (hemmert2007 5.1).

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
