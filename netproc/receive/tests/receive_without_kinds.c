// SPDX-License-Identifier: Apache-2.0 OR MIT
// The receive firmware with a planted fault: operations enter a list while others walk the other
// list. For tests.

#define WITH_KINDS 0
#include "../receive.c"
