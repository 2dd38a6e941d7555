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

/* The shortest sleep is some 50 us, the timer slack of Linux. A rank that has found nothing many times sleeps longer,
 * so that one that waits in vain does not spend its time waking. */
enum { SHORTEST_NS = 1, LONG_NS = 500000, MANY = 100 };

static void sleep_for(long ns) { nanosleep(&(struct timespec){.tv_nsec = ns}, NULL); }

int sched_yield(void) {
  sleep_for(SHORTEST_NS);
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
  static _Thread_local unsigned unsuccessful;
  unsuccessful = events == 0 ? unsuccessful + 1 : 0;
  if (events == 0) sleep_for(unsuccessful > MANY ? LONG_NS : SHORTEST_NS);
  return events;
}
