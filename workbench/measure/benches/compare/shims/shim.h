// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the comparison calls of another library. A message is 8 bytes long and is sent to oneself; request and message
// of the same number belong together. Bits 0 to 30 are the tag, bit 40 is the source: there is one, and a receive or
// probe that ignores the bit takes any. What cannot be done ends the program with a message.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG_BITS UINT64_C(0x7fffffff)
#define SOURCE_BITS (UINT64_C(1) << 40)

// Makes room for so many requests; returns the library's name and version.
const char *shim_open(uint32_t requests);
void shim_post(uint64_t bits, uint64_t ignore, uint32_t request);
void shim_arrive(uint64_t bits, uint32_t message);
// Ends when receive and message of this number are complete and freed.
void shim_wait(uint32_t request);
int shim_probe(uint64_t bits, uint64_t ignore);
// Ends when the receive is cancelled and freed.
void shim_cancel(uint32_t request);
void shim_close(void);

static inline void need(int is_so, const char *what) {
  if (is_so) return;
  fprintf(stderr, "shim: %s\n", what);
  exit(1);
}
