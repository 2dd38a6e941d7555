// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fortran bindings: collectives.

#include "fortran.h"
#include "fortran_collectives.inc"
