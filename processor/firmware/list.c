// SPDX-License-Identifier: Apache-2.0 OR MIT
// Operations on the two lists of a receiver: sequential or, with threads, pipelined by lock
// coupling.
//
// Why threads change times and never outcomes:
// - An operation walks one list from its head and acquires the lock of each item before it releases
//   the lock of the item before. It holds both locks when it removes an item. At the end of the
//   list it acquires the lock of the head of the other list before it releases the last item, and
//   appends.
// - The caller (queue.c) acquires the first lock for each operation in order of acceptance, and
//   starts none while an operation that walks the other list is outstanding.
// - So all outstanding operations acquire the same locks in the same order, and none passes
//   another. At each item an operation finds the effects of all operations accepted before it and
//   of none accepted after it, as in a sequential execution, and appends behind what they appended.
// - No thread waits for the lock of an item that is removed, because it would have to hold the lock
//   of the item before.
// - The lock of the pool is acquired last, and only for the pool. Timing decides only which free
//   entry holds an item.
// - All locks are acquired in one order, so there is no deadlock.
// Test: `operations_in_many_threads_have_the_outcomes_of_one`.

#include "list.h"

void receiver_init(struct receiver *receiver)
{
    list_init(&receiver->posted);
    list_init(&receiver->unexpected);
}

// Removes the item behind `before`; releases both.
static void take(struct receiver *receiver, struct list *list, struct memd *before, struct memd *item)
{
    list_remove(list, before, item);
    release(item);
    release(before);
    pool_give(&receiver->pool, item);
}

// Appends an item to the other list, and releases the last item of the list that was walked.
static struct memd *append_to(struct receiver *receiver, struct list *list, struct memd *before)
{
    acquire(&list->head);
    release(before);
    struct memd *item = pool_take(&receiver->pool);
    list_append(list, item);
    return item;
}

// Clause O-4: matches the oldest receive that accepts the message, or appends the message to the
// unexpected messages.
static void arrive(struct receiver *receiver, struct operation *op)
{
    struct memd *before = &receiver->posted.head, *item;
    while ((item = next_of(before))) {
        acquire(item);
        if (posted_accepts(item, &op->header))
            break;
        release(before);
        before = item;
    }
    write_answer(op, item);
    if (item) {
        take(receiver, &receiver->posted, before, item);
    } else {
        write_message(append_to(receiver, &receiver->unexpected, before), op);
        release(&receiver->unexpected.head);
    }
}

// Clauses O-3 and P-1 to P-3: finds the oldest message that the pattern accepts. A probe leaves it
// in the list. A receive without a match is appended to the posted receives.
static void search(struct receiver *receiver, struct operation *op)
{
    struct memd *before = &receiver->unexpected.head, *item;
    while ((item = next_of(before))) {
        acquire(item);
        if (pattern_accepts(op, item))
            break;
        release(before);
        before = item;
    }
    write_answer(op, item);
    if (item && op->header.op != OP_PROBE) {
        take(receiver, &receiver->unexpected, before, item);
    } else if (item) {
        release(item);
        release(before);
    } else if (op->header.op == OP_POST) {
        write_receive(append_to(receiver, &receiver->posted, before), op);
        release(&receiver->posted.head);
    } else {
        release(before);
    }
}

// Clause C-1: removes the receive of this name, if it is still posted.
static void cancel(struct receiver *receiver, struct operation *op)
{
    struct memd *before = &receiver->posted.head, *item;
    while ((item = next_of(before))) {
        acquire(item);
        if (item->name == op->name)
            break;
        release(before);
        before = item;
    }
    op->found = item != NULL;
    if (item)
        take(receiver, &receiver->posted, before, item);
    else
        release(before);
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
