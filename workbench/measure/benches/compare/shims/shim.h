// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The interface of the benchmark to another library. A message has 8 bytes and is sent to oneself; the request and the
// message of the same number belong together. Bits 0 to 30 are the tag and bit 40 is the source:
// there is one source, and a receive or probe that ignores the bit accepts any. Errors print a
// message and end the program.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG_BITS UINT64_C(0x7fffffff)
#define SOURCE_BITS (UINT64_C(1) << 40)

// Allocates this many requests; returns name and version of the library.
const char *shim_open(uint32_t requests);
void shim_post(uint64_t bits, uint64_t ignore, uint32_t request);
void shim_arrive(uint64_t bits, uint32_t message);
// Waits for the receive and the message of this number, and frees both.
void shim_wait(uint32_t request);
int shim_probe(uint64_t bits, uint64_t ignore);
// Cancels the receive and frees it.
void shim_cancel(uint32_t request);
void shim_close(void);

static inline void need(int is_so, const char *what) {
  if (is_so) return;
  fprintf(stderr, "shim: %s\n", what);
  exit(1);
}
