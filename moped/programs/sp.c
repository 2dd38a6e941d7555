/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * SP: the flow problem by an approximate factorisation whose factors are diagonalised, so that each axis
 * needs five scalar pentadiagonal systems for each line (RNR-94-007, section 3.5; class S: 100 steps).
 * The diagonal form is that of Pulliam, Chaussee, J. Comp. Phys. 39, 1981.
 *
 * Along an axis with velocity v and speed of sound c, the eigenvalues are v (three times), v + c and v - c.
 */
#include "flow.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Of an eliminated row, its two coefficients above the diagonal for each of the three different systems. */
enum { SYSTEMS = 3, FACTOR_WORDS = 2 * SYSTEMS, ROW_WORDS = FACTOR_WORDS + COMPONENTS };
static const double HALF_ROOT = 0.70710678118654752440; /* square root of 1/2 */
static const double EXPECTED_RESIDUAL[COMPONENTS] = {2.7470315451339479e-2, 1.0360746705285417e-2,
                                                     1.6235745065095532e-2, 1.5840557224455615e-2,
                                                     3.4849040609362460e-2};
static const double EXPECTED_ERROR[COMPONENTS] = {2.7289258557377227e-5, 1.0364446640837285e-5, 1.6154798287166471e-5,
                                                  1.5750704994480102e-5, 3.4177666183390531e-5};
static const int SYSTEM_OF[COMPONENTS] = {0, 0, 0, 1, 2};
static const double SOUND_SIGN[SYSTEMS] = {0, 1, -1};

/* Set at the start of each step. */
static double time_step;

struct row {
    double upper[SYSTEMS][2], rhs[COMPONENTS];
};

/* The largest diffusion coefficient at a point. Those of the momentum across and of the mass are smaller. */
static double spread(const struct cell *cell, int axis, int i)
{
    return DIFFUSION[axis] + fmax(4.0 / 3, C1C5) * C3C4 * cell->inverse_density[i];
}

/* What the coefficients of a row have in common in all systems; `place` is the grid coordinate. */
static void common_coefficients(const struct cell *cell, int axis, int i, int place, double row[5])
{
    double diffusion = time_step / (SPACING * SPACING), smoothing = time_step * DISSIPATION;
    row[0] = place > 2 ? smoothing : 0;
    row[1] = -diffusion * spread(cell, axis, i - cell->step[axis]) - (place > 1 ? 4 * smoothing : 0);
    row[2] = 1 + 2 * diffusion * spread(cell, axis, i) + smoothing * (place == 1 || place == POINTS - 2 ? 5 : 6);
    row[3] = -diffusion * spread(cell, axis, i + cell->step[axis]) - (place < POINTS - 2 ? 4 * smoothing : 0);
    row[4] = place < POINTS - 3 ? smoothing : 0;
}

/* Eliminates what is below the diagonal of a row with the two rows before it. */
static void eliminate(const struct cell *cell, int axis, int i, int place, const struct row *restrict far,
                      const struct row *restrict near, struct row *restrict row)
{
    double common[5], lower[SYSTEMS][2], scale[SYSTEMS], convection = time_step * 0.5 / SPACING;
    int below = i - cell->step[axis], above = i + cell->step[axis];
    common_coefficients(cell, axis, i, place, common);
    for (int s = 0; s < SYSTEMS; ++s) {
        double before = cell->velocity[axis][below] + SOUND_SIGN[s] * cell->sound[below];
        double after = cell->velocity[axis][above] + SOUND_SIGN[s] * cell->sound[above];
        lower[s][0] = common[0];
        lower[s][1] = common[1] - convection * before - common[0] * far->upper[s][0];
        scale[s] = 1 / (common[2] - common[0] * far->upper[s][1] - lower[s][1] * near->upper[s][0]);
        row->upper[s][0] = (common[3] + convection * after - lower[s][1] * near->upper[s][1]) * scale[s];
        row->upper[s][1] = common[4] * scale[s];
    }
    for (int m = 0; m < COMPONENTS; ++m) {
        int s = SYSTEM_OF[m];
        row->rhs[m] = (cell->rhs[i][m] - lower[s][0] * far->rhs[m] - lower[s][1] * near->rhs[m]) * scale[s];
    }
}

static void read_row(const double *words, struct row *row)
{
    for (int s = 0; s < SYSTEMS; ++s) {
        row->upper[s][0] = words[2 * s];
        row->upper[s][1] = words[2 * s + 1];
    }
    for (int m = 0; m < COMPONENTS; ++m) {
        row->rhs[m] = words[FACTOR_WORDS + m];
    }
}

static void write_row(double *words, const struct row *row)
{
    for (int s = 0; s < SYSTEMS; ++s) {
        words[2 * s] = row->upper[s][0];
        words[2 * s + 1] = row->upper[s][1];
    }
    for (int m = 0; m < COMPONENTS; ++m) {
        words[FACTOR_WORDS + m] = row->rhs[m];
    }
}

static void forward_line(struct cell *cell, int axis, int index, const double *in, double *out)
{
    /* The first row of the cube is on the surface, where nothing changes: all its words are zero. */
    struct row far = {0}, near = {0}, row;
    if (in != NULL) {
        read_row(in, &far);
        read_row(in + ROW_WORDS, &near);
    }
    int place = cell->low[axis] + cell->first[axis];
    for (int k = cell->first[axis]; k <= cell->last[axis]; ++k, ++place, index += cell->step[axis]) {
        eliminate(cell, axis, index, place, &far, &near, &row);
        double *factors = &cell->factors[(ptrdiff_t)index * FACTOR_WORDS];
        for (int s = 0; s < SYSTEMS; ++s) {
            factors[2 * s] = row.upper[s][0];
            factors[2 * s + 1] = row.upper[s][1];
        }
        for (int m = 0; m < COMPONENTS; ++m) {
            cell->rhs[index][m] = row.rhs[m];
        }
        far = near;
        near = row;
    }
    if (out != NULL) {
        write_row(out, &far);
        write_row(out + ROW_WORDS, &near);
    }
}

static void backward_line(struct cell *cell, int axis, int index, const double *in, double *out)
{
    static const double zero[2 * COMPONENTS];
    const double *near = in != NULL ? in : zero, *far = in != NULL ? in + COMPONENTS : zero;
    index += (cell->last[axis] - cell->first[axis]) * cell->step[axis];
    for (int k = cell->last[axis]; k >= cell->first[axis]; --k, index -= cell->step[axis]) {
        double *rhs = cell->rhs[index];
        const double *factors = &cell->factors[(ptrdiff_t)index * FACTOR_WORDS];
        for (int m = 0; m < COMPONENTS; ++m) {
            const double *upper = &factors[2 * SYSTEM_OF[m]];
            rhs[m] -= upper[0] * near[m] + upper[1] * far[m];
        }
        far = near;
        near = rhs;
    }
    if (out != NULL) {
        for (int m = 0; m < COMPONENTS; ++m) {
            out[m] = near[m];
            out[COMPONENTS + m] = far[m];
        }
    }
}

static void forward(struct cell *cell, int axis, const double *in, double *out)
{
    for_lines(cell, axis, 2 * ROW_WORDS, in, out, forward_line);
}

static void backward(struct cell *cell, int axis, const double *in, double *out)
{
    for_lines(cell, axis, 2 * COMPONENTS, in, out, backward_line);
}

static const struct sweep SWEEP = {2 * ROW_WORDS, 2 * COMPONENTS, false, forward, backward};

typedef void point_function(const struct cell *cell, int i, double r[COMPONENTS]);

static void for_interior(struct cells *cells, point_function *work)
{
    for (int c = 0; c < cells->side; ++c) {
        struct cell *cell = &cells->cell[c];
        for (int z = cell->first[2]; z <= cell->last[2]; ++z) {
            for (int y = cell->first[1]; y <= cell->last[1]; ++y) {
                for (int x = cell->first[0], i = index_of(cell, x, y, z); x <= cell->last[0]; ++x, ++i) {
                    work(cell, i, cell->rhs[i]);
                }
            }
        }
    }
}

static void set(double r[COMPONENTS], double r0, double r1, double r2, double r3, double r4)
{
    r[0] = r0;
    r[1] = r1;
    r[2] = r2;
    r[3] = r3;
    r[4] = r4;
}

/* Conservative variables to the eigenvectors of the first axis. */
static void to_first(const struct cell *cell, int i, double r[COMPONENTS])
{
    double inverse = cell->inverse_density[i], c = cell->sound[i];
    double u = cell->velocity[0][i], v = cell->velocity[1][i], w = cell->velocity[2][i];
    double pressure = C2 / (c * c) * (cell->kinetic[i] * r[0] - u * r[1] - v * r[2] - w * r[3] + r[4]);
    double speed = HALF_ROOT * inverse * (u * r[0] - r[1]);
    double sound = HALF_ROOT * inverse * c * pressure;
    set(r, r[0] - pressure, -inverse * (w * r[0] - r[3]), inverse * (v * r[0] - r[2]), sound - speed, sound + speed);
}

/* Eigenvectors of the first axis to those of the second. */
static void first_to_second(const struct cell *cell, int i, double r[COMPONENTS])
{
    (void)cell;
    (void)i;
    double a = HALF_ROOT * r[2], b = 0.5 * (r[3] + r[4]);
    set(r, -r[1], r[0], HALF_ROOT * (r[3] - r[4]), b - a, b + a);
}

static void second_to_third(const struct cell *cell, int i, double r[COMPONENTS])
{
    (void)cell;
    (void)i;
    double a = HALF_ROOT * r[0], b = 0.5 * (r[3] + r[4]);
    set(r, HALF_ROOT * (r[3] - r[4]), -r[2], r[1], b - a, b + a);
}

/* Eigenvectors of the third axis to conservative variables. */
static void from_third(const struct cell *cell, int i, double r[COMPONENTS])
{
    double density = cell->u[i][0], c = cell->sound[i];
    double u = cell->velocity[0][i], v = cell->velocity[1][i], w = cell->velocity[2][i];
    double sound = HALF_ROOT * density / c * (r[3] + r[4]);
    double mass = r[2] + sound, push = HALF_ROOT * density * (r[3] - r[4]);
    double energy = density * (v * r[0] - u * r[1]) + cell->kinetic[i] * mass + c * c / C2 * sound + w * push;
    set(r, mass, u * mass - density * r[1], v * mass + density * r[0], w * mass + push, energy);
}

static void step(struct cells *cells, double dt)
{
    time_step = dt;
    compute_rhs(cells, dt);
    for_interior(cells, to_first);
    run_sweep(cells, 0, &SWEEP);
    for_interior(cells, first_to_second);
    run_sweep(cells, 1, &SWEEP);
    for_interior(cells, second_to_third);
    run_sweep(cells, 2, &SWEEP);
    for_interior(cells, from_third);
    add_rhs(cells);
}

int main(int argc, char **argv)
{
    struct flow_program program = {"SP", FACTOR_WORDS, 100, 0.015, 2, step, {0}, {0}};
    memcpy(program.expected_residual, EXPECTED_RESIDUAL, sizeof EXPECTED_RESIDUAL);
    memcpy(program.expected_error, EXPECTED_ERROR, sizeof EXPECTED_ERROR);
    return run_flow(argc, argv, &program);
}
