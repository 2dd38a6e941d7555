/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The interface between the recorder and the system. system_linux.c: ranks are processes of Linux. system_chip.c
 * (MBR_CHIP): ranks run on the simulated chip, whose kernel (moped/kernel) maps no files.
 */
#ifndef MBR_SYSTEM_H
#define MBR_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Create the file of the rank; false with errno. The other functions on it return null, or why they failed: the program
 * may have closed any descriptor, and opened a file of its own under the number, and others may shorten the file. */
bool mbr_system_create(const char *path);
/* Set aside space for these bytes, which then read as zeros. The file ends at `from` so far, or later. */
const char *mbr_system_space(off_t from, off_t bytes);
const char *mbr_system_write(const void *data, size_t bytes, off_t at);
/* The file ends here from now on. */
const char *mbr_system_end(off_t bytes);

/* Memory that stands for these bytes of the file; null if there is none, and `why`. `write` passes on to the file what
 * the window holds, `close` does so and frees the memory. */
void *mbr_window_open(off_t from, size_t bytes, const char **why);
void mbr_window_write(const void *window, off_t from, size_t bytes);
void mbr_window_close(void *window, off_t from, size_t bytes);
/* Whether this address is in a window of the calling thread. Then the file has lost the bytes behind it, memory that is
 * not part of the file takes the place of the window, and recording stops. */
bool mbr_window_lost(const void *address);

/* Fill `mbr_clocks` if the system states the rate of its counter; false if it must be measured. */
bool mbr_system_clock(void);
/* Whether the processor has a counter that runs at one rate on all cores. */
bool mbr_system_counter(void);
/* CPU time of the calling thread. */
uint64_t mbr_system_cpu_ns(void);

/* Time for which the thread that initialized MPI was ready to run and waited for a processor since
 * `mbr_system_delay_start`, ns; UINT64_MAX if the system does not report it. */
void mbr_system_delay_start(void);
uint64_t mbr_delay_ns(void);

/* Words that follow the Init (spec/trace.md, T-18): a number of the host, equal on all ranks of one host, and the
 * set of processors that this process may use, 64 in each word. Returns how many there are. */
enum { MBR_PLACE_WORDS = 1 + 128 };
uint64_t mbr_system_place(uint64_t words[MBR_PLACE_WORDS]);

/* Call `release` with its argument at the end of each thread that `mbr_system_thread_started` names, and `in_child`
 * in the child of a fork. */
void mbr_system_threads(void (*release)(void *), void (*in_child)(void));
void mbr_system_thread_started(void *thread);

/* Replace the file `path` by `temporary`. */
bool mbr_system_replace(const char *temporary, const char *path);

#endif
