// SPDX-License-Identifier: Apache-2.0 OR MIT
// The firmware of a receive engine: takes operations from the host, performs them, and answers
// each.
//
// The call for the next operation models the command queue and header buffer of a NIC: the core
// requests the next descriptor, waits while there is none, and receives the address to which the
// hardware has written it. The descriptor is read by loads, whose time depends on its location in
// the memory hierarchy. With a queue polled in memory, the time of an operation would depend on its
// phase in the polling loop.
//
// With threads (hemmert2007 5.1, 5.3), the first thread takes operations from the host and starts a
// thread for each. It acquires the lock of the head of the list on behalf of the thread it starts,
// so that operations enter a list in order, on any core. An operation that walks the other list
// waits until all earlier operations have ended. list.c has the argument for the ordering.

#include "list.h"
#include "lock.h"

static struct receiver receiver;

#if THREADS
static void serve(void *argument)
{
    struct operation *op = argument;
    receiver_perform(&receiver, op);
    host_answer(op);
    host_end();
}
#endif

int main(void)
{
    receiver_init(&receiver);
    struct operation *op;
#if THREADS
    int posted = 0;
    while ((op = host_next())) {
        if (walks_posted(op) != posted) {
            host_join();
            posted = !posted;
        }
        acquire(posted ? &receiver.posted.head : &receiver.unexpected.head);
        host_thread(serve, op);
    }
    host_join();
#else
    while ((op = host_next())) {
        receiver_perform(&receiver, op);
        host_answer(op);
    }
#endif
    return 0;
}
