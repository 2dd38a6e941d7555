/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdint.h>
#include <string.h>

#include "payload.h"

static uint64_t filler(int program, int message, size_t word) {
  return ((uint64_t)(uint32_t)message << 32 | (uint64_t)program) + word * UINT64_C(0x9e3779b97f4a7c15);
}

void fill_payload(unsigned char *bytes, int count, int program, int message, int sender) {
  if (count < STAMP) return;
  const int32_t stamp[4] = {program, message, sender, count};
  memcpy(bytes, stamp, STAMP);
  size_t word = 0, left = (size_t)count - STAMP;
  for (unsigned char *to = bytes + STAMP; left > 0; word++) {
    const uint64_t value = filler(program, message, word);
    const size_t part = left < sizeof value ? left : sizeof value;
    memcpy(to, &value, part);
    to += part;
    left -= part;
  }
}

int payload_length(const unsigned char *stamp, int program) {
  int32_t words[4];
  memcpy(words, stamp, STAMP);
  return words[0] == program && words[3] >= STAMP ? words[3] : 0;
}

void check_payload(const unsigned char *bytes, int count, int program, OutcomeRecord *record) {
  record->message = NO_MESSAGE;
  if (count < STAMP) {
    record->flags |= count == 0 ? INTACT : 0;
    return;
  }
  int32_t stamp[4];
  memcpy(stamp, bytes, STAMP);
  record->message = stamp[1];
  if (stamp[0] != program) record->flags |= FOREIGN;
  if (stamp[3] != count) return;
  size_t word = 0, left = (size_t)count - STAMP;
  for (const unsigned char *from = bytes + STAMP; left > 0; word++) {
    const uint64_t value = filler(program, stamp[1], word);
    const size_t part = left < sizeof value ? left : sizeof value;
    if (memcmp(from, &value, part) != 0) return;
    from += part;
    left -= part;
  }
  record->flags |= INTACT;
}
