// SPDX-License-Identifier: Apache-2.0 OR MIT
// One operation after the other on a receiver's lists.

#include "list.h"

void receiver_init(struct receiver *receiver)
{
    list_init(&receiver->posted);
    list_init(&receiver->unexpected);
    receiver->pool = (struct pool){0};
}

// Clause O-4: the oldest receive that accepts the message, or to the end of the unexpected messages.
static void arrive(struct receiver *receiver, struct operation *op)
{
    struct memd *before = &receiver->posted.head, *item;
    while ((item = next_of(before)) && !posted_accepts(item, &op->header))
        before = item;
    write_answer(op, item);
    if (item) {
        list_remove(&receiver->posted, before, item);
        pool_give(&receiver->pool, item);
    } else {
        item = pool_take(&receiver->pool);
        write_message(item, op);
        list_append(&receiver->unexpected, item);
    }
}

// Clauses O-3 and P-1 to P-3: the oldest message that the pattern accepts. A probe leaves it; a receive that finds none
// goes to the end of the posted receives.
static void search(struct receiver *receiver, struct operation *op)
{
    struct memd *before = &receiver->unexpected.head, *item;
    while ((item = next_of(before)) && !pattern_accepts(op, item))
        before = item;
    write_answer(op, item);
    if (item) {
        if (op->header.op != OP_PROBE) {
            list_remove(&receiver->unexpected, before, item);
            pool_give(&receiver->pool, item);
        }
    } else if (op->header.op == OP_POST) {
        item = pool_take(&receiver->pool);
        write_receive(item, op);
        list_append(&receiver->posted, item);
    }
}

// Clause C-1: the receive of this name, if it is still posted.
static void cancel(struct receiver *receiver, struct operation *op)
{
    struct memd *before = &receiver->posted.head, *item;
    while ((item = next_of(before)) && item->name != op->name)
        before = item;
    op->found = item != NULL;
    if (item) {
        list_remove(&receiver->posted, before, item);
        pool_give(&receiver->pool, item);
    }
}

void receiver_perform(struct receiver *receiver, struct operation *op)
{
    if (op->header.op == PTL_MSG_PUT)
        arrive(receiver, op);
    else if (op->header.op == OP_CANCEL)
        cancel(receiver, op);
    else
        search(receiver, op);
}
