// SPDX-License-Identifier: Apache-2.0 OR MIT
// The firmware of a receive engine: operations come from the host one after the other, and each is answered.
//
// The call for the next operation stands for what a NIC's core does at its command queue and header buffer: it asks the
// hardware for the next descriptor, sleeps while there is none, and gets the address where the hardware has put it. The
// descriptor itself is read by loads, so that it costs what its place in the memory hierarchy costs. A queue polled in
// memory would make the time of an operation depend on when it comes within a turn of the polling loop.
//
// With threads (hemmert2007 5.1, 5.3) the first one takes operations from the host and starts a thread for each, which answers it.
// It has the lock of the list's head on behalf of the thread it starts, so that operations enter a list in the order in which
// they came, whichever core runs them; an operation that walks the other list waits until all before it have ended.
// The order is argued in list.c.

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
