// SPDX-License-Identifier: Apache-2.0 OR MIT
// Operations on a receiver's lists: one after the other or, with threads, behind each other.
//
// Why threads change when and never what. An operation walks one list from its head, taking the lock of each item before it
// lets go of the one before. It has both locks when it takes an item out, and when it comes to the end it takes the lock of
// the other list's head before it lets go of the last item, and appends there. The caller (queue.c) acquires the first lock
// for each operation in order of acceptance, and lets none begin while one that walks the other list is under way.
// So all operations under way take the same locks in the same order and none passes another. Where one of them is, all
// accepted before it have been and have done what they do there, and none accepted after it has been: it finds what it would
// find if it ran alone after those before it, and appends behind what they appended. Nobody waits for the lock of an item
// that is taken out, since whoever would has to hold the one before it. The pool's lock is taken last and alone: which
// entry an item gets is the only thing that time decides. Locks are taken in one order, so none waits for ever.
// Test: `operations_in_many_threads_have_the_outcomes_of_one`.

#include "list.h"

void receiver_init(struct receiver *receiver)
{
    list_init(&receiver->posted);
    list_init(&receiver->unexpected);
}

// Takes out the item behind `before`; lets go of both.
static void take(struct receiver *receiver, struct list *list, struct memd *before, struct memd *item)
{
    list_remove(list, before, item);
    release(item);
    release(before);
    pool_give(&receiver->pool, item);
}

// Lets go of the last item of the list that was walked, and begins to append to the other list.
static struct memd *append_to(struct receiver *receiver, struct list *list, struct memd *before)
{
    acquire(&list->head);
    release(before);
    struct memd *item = pool_take(&receiver->pool);
    list_append(list, item);
    return item;
}

// Clause O-4: the oldest receive that accepts the message, or to the end of the unexpected messages.
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

// Clauses O-3 and P-1 to P-3: the oldest message that the pattern accepts. A probe leaves it; a receive that finds none
// goes to the end of the posted receives.
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

// Clause C-1: the receive of this name, if it is still posted.
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
