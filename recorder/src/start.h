/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Start of recording: reads the environment, creates the rank's file and, on rank 0, completes
 * meta.json.
 * Contract: without MATCHBENCH_RECORD_DIR nothing happens at all.
 */
#ifndef MBR_START_H
#define MBR_START_H

#include <stdint.h>

/* Timestamps of the call of MPI_Init. */
struct mbr_beginning {
    uint64_t ticks, epoch_ns, cpu_ns;
};

struct mbr_beginning mbr_beginning_now(void);

/* MPI is initialized: write Init and the first communicators, and let the wrappers record. */
void mbr_recording_begin(const struct mbr_beginning *beginning);

/* Names of the calls that Other records index; null-terminated. */
extern const char *const mbr_other_calls[];

#endif
