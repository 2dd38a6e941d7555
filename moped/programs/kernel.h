/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What the programs share: random numbers of the NAS benchmarks, markers of the measured part, start
 * and verdict. Source of the benchmarks: Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, 1994.
 */
#ifndef MB_PROGRAMS_KERNEL_H
#define MB_PROGRAMS_KERNEL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mark { MARK_FUNCTIONAL = 0, MARK_WARM_UP = 1, MARK_TIMING = 2 };

/* Seed of all kernels (RNR-94-007, section 2.3). */
#define RANDOM_SEED UINT64_C(314159265)

/* Next number of x' = 5^13 x mod 2^46 as x' / 2^46, in (0, 1). */
double random_next(uint64_t *state);

/* State after `count` further numbers; time grows with the logarithm of `count`. */
uint64_t random_skip(uint64_t state, uint64_t count);

/* Zeroed memory for `count` items; aborts the program if there is none. */
void *allocate(size_t count, size_t bytes);

struct world {
    int rank, ranks;
};

/* MPI_Init. A kernel takes no argument: with one, rank 0 says so and the process exits with status 2. */
struct world start(int argc, char **argv, const char *name);

/* Ends the program with status 2, after rank 0 has printed `found` and `expected`. */
_Noreturn void refuse(const char *name, const char *found, const char *expected);

/* The settings of the run are rank 0's; these calls give them to all. */
void share_int(int *value);
void share_ints(int *values, int count);
void share_doubles(double *values, int count);

/* The parts of a run. begin_measurement is a barrier and returns the time in seconds that end_measurement takes. The
 * measured part consists of steps; begin_step is called at the begin of each.
 *
 * With MB_SAMPLE=W,N in the environment a run is a sample: what precedes the measured part has no marker, the first W
 * steps of the measured part are warm-up, the N that follow are timed, and the program ends behind them without a
 * verdict. */
void begin_warm_up(void);
double begin_measurement(void);
void begin_step(void);
double end_measurement(double begun);

/* Largest difference of `found` and `expected`, relative to `expected`; NaN counts as infinite. */
double relative_difference(const double *found, const double *expected, int count);

/* The time of the slowest rank, known to rank 0. */
double slowest(double seconds);

/* Rank 0 prints the verdict with its time and the residual. MPI_Finalize. Returns the exit status: 0 if
 * the residual is at most `limit`, else 1; other ranks than 0 return 0. */
int finish(const char *name, double seconds, double residual, double limit);

#endif
