/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The synthetic flow problem that SP and BT solve: compressible Navier-Stokes equations in a cube with a
 * forcing that makes a given polynomial the steady solution (RNR-94-007, section 3.2 to 3.4).
 *
 * Components of u: density, three momenta, energy, for each volume. The grid has 12 points along each axis.
 */
#ifndef MB_PROGRAMS_FLOW_H
#define MB_PROGRAMS_FLOW_H

#include "cells.h"

enum { POINTS = 12 };

/* Constants of the equations, in the names of RNR-94-007. */
static const double C1 = 1.4, C2 = 0.4, C3C4 = 0.1, C1C5 = 1.96;
static const double DIFFUSION[3] = {0.75, 0.75, 1}; /* d_xi, d_eta, d_zeta, equal for all components */
static const double DISSIPATION = 0.25;             /* of fourth order: a quarter of the largest of these */
static const double SPACING = 1.0 / (POINTS - 1);

/* The start: a blend of the exact solution on the six faces. */
void set_initial(struct cells *cells);

/* The forcing: minus the discrete operator of the exact solution. Overwrites u, which `set_initial` sets. */
void set_forcing(struct cells *cells);

/* rhs = dt (forcing + discrete operator of u), with a face exchange before. */
void compute_rhs(struct cells *cells, double dt);

/* u += rhs */
void add_rhs(struct cells *cells);

/* Root mean square of each component over all ranks: of u minus the exact solution, of rhs. */
void error_norm(struct cells *cells, double norm[COMPONENTS]);
void rhs_norm(struct cells *cells, double norm[COMPONENTS]);

/* The whole program: settings, one step to warm up, `steps` measured ones, verdict. */
struct flow_program {
    const char *name;
    int factor_words;
    int steps;
    double dt;
    int shared_settings; /* how many single numbers rank 0 gives to all, as in the original */
    void (*step)(struct cells *cells, double dt);
    double expected_residual[COMPONENTS], expected_error[COMPONENTS]; /* published for class S */
};
int run_flow(int argc, char **argv, const struct flow_program *program);

#endif
