// SPDX-License-Identifier: Apache-2.0 OR MIT
// A test double of MOPED's ports (moped.h) in shared memory, so that transport moped can be tested
// on the host. It has the device's states, tables, back-off and extensions, and no times: messages
// are copied while their processes poll. It is not a model of the device.

#ifndef MB_MOPED_DOUBLE_H
#define MB_MOPED_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

// `table`: descriptors of one MOPED. `is_literal`: back-off as published, which matches on and ends
// by itself when the last descriptor is gone.
void mb_double_start(void *memory, size_t bytes, int rank, int ranks, int table, int is_literal);
uint32_t mb_double_reserve(void);
void mb_double_store(uint32_t descriptor, unsigned field, uint64_t value);
uint32_t mb_double_poll(uint32_t descriptor, unsigned word);

#endif
