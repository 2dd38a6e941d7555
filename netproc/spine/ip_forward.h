// SPDX-License-Identifier: Apache-2.0 OR MIT
// The parts of IP-FORWARD.

#ifndef MB_NETPROC_IP_FORWARD_H
#define MB_NETPROC_IP_FORWARD_H

#include "spine.h"

// Next hop of an address without a route.
#define NO_NEXT_HOP 0xffffffffu

void np_routes4_start(void);
void np_routes6_start(void);
uint32_t np_route4(uint32_t address);
uint32_t np_route6(uint64_t high, uint64_t low);

#endif
