// SPDX-License-Identifier: Apache-2.0 OR MIT
// The match function on lists that the host writes, for comparison with a golden function.

#include "host.h"
#include "match.h"

struct question {
    struct ptlhdr header;
    uint32_t src_nid;
    uint32_t items;
    // The answer: offset and mlength as match writes them.
    uint64_t offset;
    uint32_t mlength;
    uint32_t found; // position, or the number of items if there was no match
    uint64_t reserved;
    struct memd list[]; // this program writes the links
};

int main(void)
{
    struct question *question;
    while ((question = host_next())) {
        struct memd *list = question->list;
        for (uint32_t i = 0; i < question->items; i++)
            list[i].next = i + 1 < question->items ? link_to(&list[i + 1]) : 0;
        const struct memd *found = match(question->items ? list : NULL, &question->header, question->src_nid,
                                         &question->offset, &question->mlength);
        question->found = found ? (uint32_t)(found - list) : question->items;
        host_answer(question);
    }
    return 0;
}
