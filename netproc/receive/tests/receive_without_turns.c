// SPDX-License-Identifier: Apache-2.0 OR MIT
// The receive firmware with a planted fault: operations enter the lists in any order. For tests.

#define WITH_TURNS 0
#include "../receive.c"
