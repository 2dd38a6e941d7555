/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* mbmatch as a part of pml/ob1. Its functions are not visible outside of the library: a program may have mbmatch, too,
 * of another version. The headers that mbmatch.c includes come first, since their functions are in another library. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif
#include "mbmatch.c"
