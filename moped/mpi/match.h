// SPDX-License-Identifier: Apache-2.0 OR MIT
// Matching in software: posted receives and unexpected messages.

#ifndef MB_MATCH_H
#define MB_MATCH_H

#include "transport.h"

// A message that arrived before its receive was posted.
struct mb_unexpected {
    struct mb_unexpected *next;
    int context, source, tag;
    int world; // sending process
    int is_synchronous, is_request;
    uint64_t bytes, arrived;
    uint64_t sender;          // request of the sending process
    struct mb_request *taker; // receive that took it while pieces are still to come
    unsigned char data[];
};

// Where the pieces of an eager message go.
struct mb_arrival {
    struct mb_request *receive;
    uint64_t left; // bytes that are still to come
    struct mb_unexpected *unexpected;
};

void mb_post(struct mb_request *receive);
// The oldest posted receive that accepts a message, removed; NULL if there is none.
struct mb_request *mb_take_posted(int context, int source, int tag);
struct mb_request *mb_take_oldest_posted(void);
int mb_withdraw_posted(struct mb_request *receive);
void mb_add_unexpected(struct mb_unexpected *message);
struct mb_unexpected *mb_find_unexpected(int context, int source, int tag);
// The oldest unexpected message that a receive accepts, removed.
struct mb_unexpected *mb_take_unexpected(int context, int source, int tag);
// Frees the message of a request of another process; whether it was there.
int mb_withdraw_unexpected(int world, uint64_t sender);

#endif
