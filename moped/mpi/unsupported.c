// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calls that the library lacks. mpi.h declares them without parameters, so that any use compiles.

_Noreturn void mb_panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define MB_UNSUPPORTED(name)                                                                                           \
    int name(void);                                                                                                    \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        mb_panic("%s: not supported by this library (moped/mpi/README.md)", __func__);                                 \
    }
#include "mpi_unsupported.h"
