// SPDX-License-Identifier: Apache-2.0 OR MIT
// The match function of S0 figure 1, a translation unit of its own: its caller is compiled without a look inside.

#include "match.h"

struct memd *match(struct memd *list, const struct ptlhdr *hdr, uint32_t src_nid, uint64_t *offset, uint32_t *mlength)
{
    for (struct memd *current = list; current; current = next_of(current))
        if (accepts(current, hdr, src_nid, offset, mlength))
            return current;
    return NULL;
}
