/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * BT: the flow problem by an approximate factorisation with a block tridiagonal system of 5 x 5 blocks
 * for each line along each axis (RNR-94-007, section 3.6; class S: 60 steps).
 */
#include "flow.h"

#include <stddef.h>
#include <string.h>

enum { BLOCK = COMPONENTS * COMPONENTS, ROW_WORDS = BLOCK + COMPONENTS };
static const double EXPECTED_RESIDUAL[COMPONENTS] = {1.7034283709541311e-1, 1.2975252070034097e-2,
                                                     3.2527926989486055e-2, 2.6436421275166801e-2,
                                                     1.9211784131744430e-1};
static const double EXPECTED_ERROR[COMPONENTS] = {4.9976913345811579e-4, 4.5195666782961927e-5, 7.3973765172921357e-5,
                                                  7.3821238632439731e-5, 8.9269630987491446e-4};

/* Set at the start of each step. */
static double time_step;

/* Jacobians at one point: of the convective flux along the axis, and of the viscous one. */
struct jacobians {
    double flux[BLOCK], viscous[BLOCK]; /* by rows */
};

static void differentiate(const struct cell *cell, int axis, int i, struct jacobians *jacobians)
{
    const double *u = cell->u[i];
    double inverse = cell->inverse_density[i], kinetic = cell->kinetic[i], v = cell->velocity[axis][i];
    double energy = u[4] * inverse; /* for each mass */
    int n = 1 + axis;
    double(*flux)[COMPONENTS] = (double(*)[COMPONENTS])jacobians->flux;
    double(*viscous)[COMPONENTS] = (double(*)[COMPONENTS])jacobians->viscous;
    memset(jacobians, 0, sizeof *jacobians);
    flux[0][n] = 1;
    flux[4][0] = (2 * C2 * kinetic - C1 * energy) * v;
    viscous[4][0] = -C1C5 * energy;
    for (int k = 1; k <= 3; ++k) {
        double w = cell->velocity[k - 1][i], factor = k == n ? 4.0 / 3 : 1;
        flux[k][0] = -v * w;
        flux[k][n] += w;
        flux[k][k] += v;
        flux[n][k] -= C2 * w;
        flux[4][k] = -C2 * v * w;
        viscous[k][0] = -factor * w * inverse * C3C4;
        viscous[k][k] = factor * inverse * C3C4;
        viscous[4][0] -= (factor - C1C5) * w * w;
        viscous[4][k] = (factor - C1C5) * w * inverse * C3C4;
    }
    flux[n][0] += C2 * kinetic;
    flux[n][4] = C2;
    flux[4][n] += C1 * energy - C2 * kinetic;
    flux[4][4] = C1 * v;
    viscous[4][0] *= C3C4 * inverse;
    viscous[4][4] = C1C5 * C3C4 * inverse;
}

/* to -= left * right */
static void subtract_vector(double *restrict to, const double *restrict left, const double *restrict right)
{
#pragma GCC unroll 5
    for (int i = 0; i < COMPONENTS; ++i) {
        const double *row = &left[i * COMPONENTS];
        to[i] = to[i] - row[0] * right[0] - row[1] * right[1] - row[2] * right[2] - row[3] * right[3] -
                row[4] * right[4];
    }
}

static void subtract_product(double *restrict to, const double *restrict left, const double *restrict right)
{
#pragma GCC unroll 5
    for (int j = 0; j < COMPONENTS; ++j) {
        double column[COMPONENTS];
#pragma GCC unroll 5
        for (int k = 0; k < COMPONENTS; ++k) {
            column[k] = right[k * COMPONENTS + j];
        }
#pragma GCC unroll 5
        for (int i = 0; i < COMPONENTS; ++i) {
            const double *row = &left[i * COMPONENTS];
            double sum = to[i * COMPONENTS + j];
#pragma GCC unroll 5
            for (int k = 0; k < COMPONENTS; ++k) {
                sum -= row[k] * column[k];
            }
            to[i * COMPONENTS + j] = sum;
        }
    }
}

/* row -= factor * other, from column `first` on */
static inline void subtract_row(double *restrict row, const double *restrict other, double factor, int first)
{
#pragma GCC unroll 5
    for (int j = first; j < COMPONENTS; ++j) {
        row[j] -= factor * other[j];
    }
}

/* Replaces `upper` and `rhs` by their products with the inverse of `diagonal`, which it destroys. There is
 * no pivot search: with the time step of the benchmark the identity dominates. */
static void solve_block(double *restrict diagonal, double *restrict upper, double *restrict rhs)
{
#pragma GCC unroll 5
    for (int p = 0; p < COMPONENTS; ++p) {
        double *pivot = &diagonal[p * COMPONENTS], *scaled = &upper[p * COMPONENTS], scale = 1 / pivot[p];
#pragma GCC unroll 5
        for (int j = 0; j < COMPONENTS; ++j) {
            pivot[j] *= scale;
            scaled[j] *= scale;
        }
        rhs[p] *= scale;
#pragma GCC unroll 5
        for (int i = 0; i < COMPONENTS; ++i) {
            if (i != p) {
                double factor = diagonal[i * COMPONENTS + p];
                subtract_row(&diagonal[i * COMPONENTS], pivot, factor, p + 1);
                subtract_row(&upper[i * COMPONENTS], scaled, factor, 0);
                rhs[i] -= factor * rhs[p];
            }
        }
    }
}

/* Blocks of a row from the Jacobians at the points below, here and above. */
static void set_blocks(int axis, const struct jacobians *below, const struct jacobians *here,
                       const struct jacobians *above, double *restrict lower, double *restrict diagonal,
                       double *restrict upper)
{
    double convection = time_step * 0.5 / SPACING, diffusion = time_step / (SPACING * SPACING);
    for (int i = 0; i < BLOCK; ++i) {
        lower[i] = -convection * below->flux[i] - diffusion * below->viscous[i];
        diagonal[i] = 2 * diffusion * here->viscous[i];
        upper[i] = convection * above->flux[i] - diffusion * above->viscous[i];
    }
    for (int i = 0; i < BLOCK; i += COMPONENTS + 1) {
        lower[i] -= diffusion * DIFFUSION[axis];
        diagonal[i] += 1 + 2 * diffusion * DIFFUSION[axis];
        upper[i] -= diffusion * DIFFUSION[axis];
    }
}

static double *factor(struct cell *cell, int index)
{
    return &cell->factors[(ptrdiff_t)index * BLOCK];
}

/* One line from its first interior point at `index`. On the surface nothing changes: the row there is the
 * identity with a right-hand side of zero. */
static void forward_line(struct cell *cell, int axis, int index, const double *in, double *out)
{
    struct jacobians jacobians[3];
    int step = cell->step[axis];
    static const double zero[ROW_WORDS];
    const double *before = in != NULL ? in : zero, *rhs_before = before + BLOCK;
    differentiate(cell, axis, index - step, &jacobians[0]);
    differentiate(cell, axis, index, &jacobians[1]);
    for (int k = 0; k <= cell->last[axis] - cell->first[axis]; ++k, index += step) {
        const struct jacobians *below = &jacobians[k % 3], *here = &jacobians[(k + 1) % 3];
        struct jacobians *above = &jacobians[(k + 2) % 3];
        differentiate(cell, axis, index + step, above);
        double lower[BLOCK], diagonal[BLOCK], *upper = factor(cell, index), *rhs = cell->rhs[index];
        set_blocks(axis, below, here, above, lower, diagonal, upper);
        subtract_product(diagonal, lower, before);
        subtract_vector(rhs, lower, rhs_before);
        solve_block(diagonal, upper, rhs);
        before = upper;
        rhs_before = rhs;
    }
    if (out != NULL) {
        memcpy(out, before, BLOCK * sizeof *out);
        memcpy(out + BLOCK, rhs_before, COMPONENTS * sizeof *out);
    }
}

static void backward_line(struct cell *cell, int axis, int index, const double *in, double *out)
{
    static const double zero[COMPONENTS];
    const double *after = in != NULL ? in : zero;
    int step = cell->step[axis];
    index += (cell->last[axis] - cell->first[axis]) * step;
    for (int k = cell->last[axis]; k >= cell->first[axis]; --k, index -= step) {
        subtract_vector(cell->rhs[index], factor(cell, index), after);
        after = cell->rhs[index];
    }
    if (out != NULL) {
        memcpy(out, after, COMPONENTS * sizeof *out);
    }
}

static void forward(struct cell *cell, int axis, const double *in, double *out)
{
    for_lines(cell, axis, ROW_WORDS, in, out, forward_line);
}

static void backward(struct cell *cell, int axis, const double *in, double *out)
{
    for_lines(cell, axis, COMPONENTS, in, out, backward_line);
}

static const struct sweep SWEEP = {ROW_WORDS, COMPONENTS, true, forward, backward};

static void step(struct cells *cells, double dt)
{
    time_step = dt;
    compute_rhs(cells, dt);
    for (int axis = 0; axis < 3; ++axis) {
        run_sweep(cells, axis, &SWEEP);
    }
    add_rhs(cells);
}

int main(int argc, char **argv)
{
    struct flow_program program = {"BT", BLOCK, 60, 0.010, 4, step, {0}, {0}};
    memcpy(program.expected_residual, EXPECTED_RESIDUAL, sizeof EXPECTED_RESIDUAL);
    memcpy(program.expected_error, EXPECTED_ERROR, sizeof EXPECTED_ERROR);
    return run_flow(argc, argv, &program);
}
