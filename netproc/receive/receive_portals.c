// SPDX-License-Identifier: Apache-2.0 OR MIT
// The receive firmware with the match function of Hemmert et al. for arrivals.

#define PORTALS
#include "receive.c"
