/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The contents of messages: a stamp with program, message, sender and length, then bytes that no other message has. */
#ifndef MATCHBENCH_CONFORM_PAYLOAD_H
#define MATCHBENCH_CONFORM_PAYLOAD_H

#include "codes.h"

/* Bytes at the beginning of a message that identify it; a message that is not empty has at least as many. */
enum { STAMP = 16 };

/* Fills the `count` bytes of a message. */
void fill_payload(unsigned char *bytes, int count, int program, int message, int sender);

/* The length of the message of `program` with these first STAMP bytes; 0 if they are not from a message. */
int payload_length(const unsigned char *stamp, int program);

/* Sets `message` and the flags INTACT and FOREIGN of the record of a received message. */
void check_payload(const unsigned char *bytes, int count, int program, OutcomeRecord *record);

#endif
