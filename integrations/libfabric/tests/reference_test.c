/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The reference of the random test, case by case. Prints nothing and exits with 0, or names the first wrong case. */
#include <stdio.h>
#include <stdlib.h>

#include "reference.h"

static Reference reference;

static void check(bool condition, const char *what) {
  if (condition) return;
  printf("%s\n", what);
  exit(1);
}

static const Message *send(int sender, bool tagged, uint64_t tag) {
  Message *message = &reference.messages[reference.message_count++];
  *message = (Message){.sender = sender, .tagged = tagged, .tag = tag, .size = 8, .state = WAITING};
  return message;
}

static Receive *post(int source, bool tagged, uint64_t tag, uint64_t ignore) {
  Receive *receive = &reference.receives[reference.receive_count++];
  *receive = (Receive){.tagged = tagged, .source = source, .tag = tag, .ignore = ignore, .size = 8, .posted = true};
  return receive;
}

static void begin(void) {
  reference = (Reference){.min_multi = 64, .known = {true, true, false}};
}

int main(void) {
  int permitted[SENDERS];

  begin();
  post(ANY, true, 1, 0);
  post(0, true, 1, 0);
  check(oldest_receive(&reference, send(0, true, 1)) == 0, "the older receive is not taken");
  check(oldest_receive(&reference, send(0, true, 2)) == -1, "another tag is accepted");
  check(oldest_receive(&reference, send(0, false, 1)) == -1, "an untagged message is accepted by a tagged receive");
  reference.receives[0].posted = false;
  check(oldest_receive(&reference, send(0, true, 1)) == 1, "a receive that is not posted is taken");
  check(oldest_receive(&reference, send(1, true, 1)) == -1, "another source is accepted");

  begin();
  post(2, true, 1, 0);
  check(oldest_receive(&reference, send(2, true, 1)) == -1, "an unknown sender is accepted by its name");
  reference.known[2] = true;
  check(oldest_receive(&reference, &reference.messages[0]) == 0, "a sender that became known is not accepted");

  begin();
  send(0, true, 4), send(0, true, 5), send(1, true, 5), send(0, true, 5);
  Receive *receive = post(ANY, true, 5, 0);
  check(permitted_messages(&reference, receive, permitted) == 2 && permitted[0] == 1 && permitted[1] == 2,
        "not the oldest accepted message of each sender is permitted");
  reference.arrival_order = true;
  check(permitted_messages(&reference, receive, permitted) == 1 && permitted[0] == 1, "not the oldest of all alone");
  receive->ignore = 1;
  check(permitted_messages(&reference, receive, permitted) == 1 && permitted[0] == 0, "ignored bits are compared");
  reference.messages[0].state = CLAIMED;
  check(permitted_messages(&reference, receive, permitted) == 1 && permitted[0] == 1, "a claimed message is permitted");

  begin();
  receive = post(ANY, false, 0, 0);
  receive->multi = true;
  receive->size = 200;
  Space space = take(&reference, receive, 100);
  check(space.offset == 0 && space.length == 100 && receive->posted, "a buffer with 100 bytes left is released");
  space = take(&reference, receive, 36);
  check(space.offset == 100 && space.length == 36 && receive->posted, "a buffer with 64 bytes left is released");
  space = take(&reference, receive, 100);
  check(space.offset == 136 && space.length == 64 && !receive->posted, "a full buffer is not released");
  return 0;
}
