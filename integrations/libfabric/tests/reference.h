/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the receive queues of a libfabric endpoint must do: two lists, searched from the oldest entry.
 *
 * Sources: fi_tagged(3), fi_msg(3), fi_endpoint(3). Receives are searched in the order in which they were posted. The
 * messages of one sender are matched in the order in which it sent them; nothing is promised between senders, so that
 * a receive for any source may take the oldest message that it accepts of any sender. Until the address of a sender is
 * in the receiver's address vector, receives for any source alone accept its messages.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SENDERS = 3, ANY = -1, MAX_MESSAGES = 4096, MAX_RECEIVES = 4096 };

typedef enum { WAITING, CLAIMED, GONE } MessageState;

typedef struct {
  int sender;
  bool tagged;
  uint64_t tag;
  size_t size;
  MessageState state;
} Message; /* its number is its index */

typedef struct {
  bool tagged;
  bool multi; /* FI_MULTI_RECV */
  int source; /* ANY, or a sender */
  uint64_t tag;
  uint64_t ignore;
  size_t size; /* of the buffer; with `multi`, `used` of it is used */
  size_t used;
  bool posted;
} Receive;

typedef struct {
  bool arrival_order; /* a receive for any source takes the message that arrived first */
  size_t min_multi;   /* FI_OPT_MIN_MULTI_RECV */
  bool known[SENDERS];
  Message messages[MAX_MESSAGES];
  int message_count;
  Receive receives[MAX_RECEIVES];
  int receive_count;
} Reference;

/* The oldest posted receive that accepts the message, or -1. */
int oldest_receive(const Reference *reference, const Message *message);

/* The messages that the receive may take, at most one of each sender; returns their number. */
int permitted_messages(const Reference *reference, const Receive *receive, int permitted[SENDERS]);

/* The receive takes a message of `size` bytes: where in its buffer the message is, and how much of it. A multi-receive
 * buffer stays posted while `min_multi` bytes are left. */
typedef struct {
  size_t offset;
  size_t length;
} Space;
Space take(Reference *reference, Receive *receive, size_t size);

#endif
