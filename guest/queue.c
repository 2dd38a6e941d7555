// SPDX-License-Identifier: Apache-2.0 OR MIT
// The firmware of a receive engine: operations come from the host one after the other, and each is answered.
//
// The call for the next operation stands for what a NIC's core does at its command queue and header buffer: it asks the
// hardware for the next descriptor, sleeps while there is none, and gets the address where the hardware has put it. The
// descriptor itself is read by loads, so that it costs what its place in the memory hierarchy costs. A queue polled in
// memory would make the time of an operation depend on when it comes within a turn of the polling loop.

#include "list.h"

static struct receiver receiver;

int main(void)
{
    receiver_init(&receiver);
    struct operation *op;
    while ((op = host_next())) {
        receiver_perform(&receiver, op);
        host_answer(op);
    }
    return 0;
}
