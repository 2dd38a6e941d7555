/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "reference.h"

static bool accepts(const Reference *reference, const Receive *receive, const Message *message) {
  if (receive->tagged != message->tagged) return false;
  if (receive->source != ANY && (receive->source != message->sender || !reference->known[message->sender]))
    return false;
  return !receive->tagged || ((receive->tag ^ message->tag) & ~receive->ignore) == 0;
}

int oldest_receive(const Reference *reference, const Message *message) {
  for (int i = 0; i < reference->receive_count; i++) {
    const Receive *receive = &reference->receives[i];
    if (receive->posted && accepts(reference, receive, message)) return i;
  }
  return -1;
}

int permitted_messages(const Reference *reference, const Receive *receive, int permitted[SENDERS]) {
  bool seen[SENDERS] = {false};
  int count = 0;
  for (int i = 0; i < reference->message_count; i++) {
    const Message *message = &reference->messages[i];
    if (message->state != WAITING || seen[message->sender] || !accepts(reference, receive, message)) continue;
    seen[message->sender] = true;
    permitted[count++] = i;
    if (reference->arrival_order) break;
  }
  return count;
}

Space take(Reference *reference, Receive *receive, size_t size) {
  const size_t left = receive->size - receive->used;
  const Space space = {receive->used, size < left ? size : left};
  receive->used += space.length;
  receive->posted = receive->multi && receive->size - receive->used >= reference->min_multi;
  return space;
}
