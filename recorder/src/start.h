/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Start of recording: reads the environment, creates the rank's file and, on rank 0, completes
 * meta.json.
 * Contract: without MATCHBENCH_RECORD_DIR nothing happens at all.
 */
#ifndef MBR_START_H
#define MBR_START_H

#include "library.h"

#include <stdbool.h>
#include <stdint.h>

/* Timestamps of the call of MPI_Init. */
struct mbr_beginning {
    uint64_t ticks, epoch_ns, cpu_ns;
};

struct mbr_beginning mbr_beginning_now(void);

/* The recorder was loaded, and is to write into this directory. */
void mbr_loaded(const char *dir);

/* What an initialization of MPI is to the recording: the first, which begins it; one more, which is a call
 * like others; or none. */
enum mbr_life { LIFE_FIRST, LIFE_FURTHER, LIFE_UNRECORDED };

/* MPI_Init (`session` is 0) or MPI_Session_init (the address of the new session) has succeeded. The first one writes
 * Init and the first communicators, and lets the wrappers record. */
enum mbr_life mbr_life_begins(const struct mbr_beginning *beginning, mbr_word session);

/* MPI_Finalize or MPI_Session_finalize is called; true if it is the last one, with which the trace ends. */
bool mbr_life_ends(void);

/* Names of the calls that Other records index; null-terminated. */
extern const char *const mbr_other_calls[];

#endif
