/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Preloaded into the ranks of an MPI by tests (`tests/idle_ranks.py`): a rank that finds nothing to do sleeps.
 *
 * Ranks that wait poll. With more ranks than processors, a rank that waits keeps the one that it waits for from
 * running until its time slice ends, some milliseconds for each message. Open MPI calls `sched_yield` between polls if
 * it is told so, which leaves the processor to other programs that compute; MPICH 4.0 polls `ucp_worker_progress` and
 * never yields.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

/* The shortest sleep: with the timer slack of Linux, some 50 us. */
static void sleep_briefly(void) { nanosleep(&(struct timespec){.tv_nsec = 1}, NULL); }

int sched_yield(void) {
  sleep_briefly();
  return 0;
}

/* Returns the library's own. A program may load its MPI late, and then no library that follows this one has it. */
static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found != NULL) return found;
  void *ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  return ucp == NULL ? NULL : dlsym(ucp, name);
}

/* Of UCX: the number of events that were handled. */
unsigned ucp_worker_progress(void *worker) {
  static unsigned (*progress)(void *);
  if (progress == NULL) progress = (unsigned (*)(void *))next("ucp_worker_progress");
  const unsigned events = progress(worker);
  if (events == 0) sleep_briefly();
  return events;
}
