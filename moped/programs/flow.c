/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "flow.h"

#include <math.h>
#include <string.h>

/* Tolerance of the benchmark. */
static const double TOLERANCE = 1e-8;

/* Coefficients of the exact solution: constant, then powers one to four of each coordinate. */
static const double CONSTANT[COMPONENTS] = {2, 1, 2, 2, 5};
static const double POWERS[COMPONENTS][3][4] = {
    {{0, 5, 0.02, 0.5}, {0, 3, 0.01, 0.4}, {4, 0.5, 0.03, 0.3}},
    {{0, 1, 0.01, 0.4}, {0, 2, 0.03, 0.3}, {0, 3, 0.02, 0.5}},
    {{2, 0, 0.04, 0.3}, {0, 2, 0.03, 0.5}, {0, 3, 0.05, 0.4}},
    {{2, 0, 0.03, 0.2}, {0, 2, 0.05, 0.1}, {0, 3, 0.04, 0.3}},
    {{4, 0.1, 0.05, 0.1}, {3, 0.4, 0.04, 0.3}, {2, 0.3, 0.03, 0.2}},
};

static void exact_solution(const double at[3], double value[COMPONENTS])
{
    for (int m = 0; m < COMPONENTS; ++m) {
        value[m] = CONSTANT[m];
        for (int axis = 0; axis < 3; ++axis) {
            const double *power = POWERS[m][axis];
            double s = at[axis];
            value[m] += s * (power[0] + s * (power[1] + s * (power[2] + s * power[3])));
        }
    }
}

static bool inside(const struct cell *cell, const int at[3], int points)
{
    bool good = true;
    for (int axis = 0; axis < 3; ++axis) {
        int place = cell->low[axis] + at[axis];
        good = good && place >= 0 && place < points;
    }
    return good;
}

/* Calls `visit` for all points of a cell with `margin` ghost points on each side, where they are in the cube. */
static void for_each(struct cells *cells, int margin, void (*visit)(struct cell *cell, int index, const double at[3]))
{
    for (int c = 0; c < cells->side; ++c) {
        struct cell *cell = &cells->cell[c];
        int at[3];
        for (at[2] = -margin; at[2] < cell->size[2] + margin; ++at[2]) {
            for (at[1] = -margin; at[1] < cell->size[1] + margin; ++at[1]) {
                for (at[0] = -margin; at[0] < cell->size[0] + margin; ++at[0]) {
                    if (inside(cell, at, cells->points)) {
                        double place[3];
                        for (int axis = 0; axis < 3; ++axis) {
                            place[axis] = (cell->low[axis] + at[axis]) * SPACING;
                        }
                        visit(cell, index_of(cell, at[0], at[1], at[2]), place);
                    }
                }
            }
        }
    }
}

static void set_exact(struct cell *cell, int index, const double at[3])
{
    exact_solution(at, cell->u[index]);
}

static void set_blend(struct cell *cell, int index, const double at[3])
{
    double along[3][COMPONENTS];
    for (int axis = 0; axis < 3; ++axis) {
        double low[COMPONENTS], high[COMPONENTS], end[3] = {at[0], at[1], at[2]};
        end[axis] = 0;
        exact_solution(end, low);
        end[axis] = 1;
        exact_solution(end, high);
        for (int m = 0; m < COMPONENTS; ++m) {
            along[axis][m] = at[axis] * high[m] + (1 - at[axis]) * low[m];
        }
    }
    for (int m = 0; m < COMPONENTS; ++m) {
        double x = along[0][m], y = along[1][m], z = along[2][m];
        cell->u[index][m] = x + y + z - x * y - x * z - y * z + x * y * z;
    }
    double last = (POINTS - 1) * SPACING;
    if (at[0] == 0 || at[1] == 0 || at[2] == 0 || at[0] == last || at[1] == last || at[2] == last) {
        exact_solution(at, cell->u[index]);
    }
}

void set_initial(struct cells *cells)
{
    for (int c = 0; c < cells->side; ++c) {
        struct cell *cell = &cells->cell[c];
        /* Ghost points that no exchange fills: any state of finite speed serves. */
        for (int i = 0; i < cell->volume; ++i) {
            memcpy(cell->u[i], (const double[COMPONENTS]){1, 0, 0, 0, 1}, sizeof cell->u[i]);
        }
    }
    for_each(cells, 0, set_blend);
}

/* Everything but u that the fluxes and the solvers need. */
static void derive(struct cell *cell)
{
    for (int z = -1; z <= cell->size[2]; ++z) {
        for (int y = -1; y <= cell->size[1]; ++y) {
            for (int x = -1, i = index_of(cell, x, y, z); x <= cell->size[0]; ++x, ++i) {
                const double *u = cell->u[i];
                double inverse = 1 / u[0];
                cell->inverse_density[i] = inverse;
                double square = 0;
                for (int axis = 0; axis < 3; ++axis) {
                    cell->velocity[axis][i] = u[1 + axis] * inverse;
                    square += u[1 + axis] * cell->velocity[axis][i];
                }
                square *= 0.5;
                cell->kinetic[i] = square * inverse;
                cell->sound[i] = sqrt(C1 * C2 * inverse * (u[4] - square));
            }
        }
    }
}

static double second(double below, double here, double above)
{
    return above - 2 * here + below;
}

/* Adds convection and diffusion along an axis at point i. */
static void add_flux(struct cell *cell, int axis, int i)
{
    const double diffusion = DIFFUSION[axis] / (SPACING * SPACING), convection = 0.5 / SPACING;
    const double viscous = C3C4 / (SPACING * SPACING);
    int below = i - cell->step[axis], above = i + cell->step[axis];
    const double *b = cell->u[below], *h = cell->u[i], *a = cell->u[above];
    double *rhs = cell->rhs[i];
    double vb = cell->velocity[axis][below], vh = cell->velocity[axis][i], va = cell->velocity[axis][above];
    double rb = cell->inverse_density[below], rh = cell->inverse_density[i], ra = cell->inverse_density[above];
    double kb = cell->kinetic[below] * b[0], ka = cell->kinetic[above] * a[0]; /* kinetic energy for each volume */
    rhs[0] += diffusion * second(b[0], h[0], a[0]) - convection * (a[1 + axis] - b[1 + axis]);
    for (int k = 0; k < 3; ++k) {
        const double *v = cell->velocity[k];
        double factor = k == axis ? 4.0 / 3 * viscous : viscous;
        rhs[1 + k] += diffusion * second(b[1 + k], h[1 + k], a[1 + k]) + factor * second(v[below], v[i], v[above]) -
                      convection * (a[1 + k] * va - b[1 + k] * vb);
    }
    rhs[1 + axis] -= convection * C2 * (a[4] - ka - b[4] + kb);
    rhs[4] += diffusion * second(b[4], h[4], a[4]) +
              viscous * ((1 - C1C5) * second(cell->kinetic[below], cell->kinetic[i], cell->kinetic[above]) +
                         1.0 / 6 * second(vb * vb, vh * vh, va * va) +
                         C1C5 * second(b[4] * rb, h[4] * rh, a[4] * ra)) -
              convection * ((C1 * a[4] - C2 * ka) * va - (C1 * b[4] - C2 * kb) * vb);
}

/* Adds the fourth difference along an axis at point i; `place` is the grid coordinate, from 1 to points - 2.
 * Next to the surface the stencil leaves out the points on and outside it. */
static void add_dissipation(struct cell *cell, int axis, int i, int place, int points)
{
    int step = cell->step[axis];
    double centre = place == 1 || place == points - 2 ? 5 : 6;
    for (int m = 0; m < COMPONENTS; ++m) {
        double sum = centre * cell->u[i][m];
        if (place > 1) {
            sum -= 4 * cell->u[i - step][m];
        }
        if (place > 2) {
            sum += cell->u[i - 2 * step][m];
        }
        if (place < points - 2) {
            sum -= 4 * cell->u[i + step][m];
        }
        if (place < points - 3) {
            sum += cell->u[i + 2 * step][m];
        }
        cell->rhs[i][m] -= DISSIPATION * sum;
    }
}

/* rhs = factor (forcing + discrete operator of u) in the interior; ghost points and derived values are there. */
static void set_operator(struct cells *cells, struct cell *cell, double factor)
{
    for (int z = cell->first[2]; z <= cell->last[2]; ++z) {
        for (int y = cell->first[1]; y <= cell->last[1]; ++y) {
            for (int x = cell->first[0]; x <= cell->last[0]; ++x) {
                int i = index_of(cell, x, y, z);
                const int at[3] = {x, y, z};
                memcpy(cell->rhs[i], cell->forcing[i], sizeof cell->rhs[i]);
                for (int axis = 0; axis < 3; ++axis) {
                    add_flux(cell, axis, i);
                    add_dissipation(cell, axis, i, cell->low[axis] + at[axis], cells->points);
                }
                for (int m = 0; m < COMPONENTS; ++m) {
                    cell->rhs[i][m] *= factor;
                }
            }
        }
    }
}

void set_forcing(struct cells *cells)
{
    for_each(cells, GHOSTS, set_exact);
    for (int c = 0; c < cells->side; ++c) {
        struct cell *cell = &cells->cell[c];
        derive(cell);
        /* So far there is no forcing. */
        set_operator(cells, cell, -1);
        memcpy(cell->forcing, cell->rhs, (size_t)cell->volume * sizeof *cell->forcing);
    }
}

void compute_rhs(struct cells *cells, double dt)
{
    exchange_faces(cells);
    for (int c = 0; c < cells->side; ++c) {
        struct cell *cell = &cells->cell[c];
        derive(cell);
        set_operator(cells, cell, dt);
    }
}

void add_rhs(struct cells *cells)
{
    for (int c = 0; c < cells->side; ++c) {
        struct cell *cell = &cells->cell[c];
        for (int z = cell->first[2]; z <= cell->last[2]; ++z) {
            for (int y = cell->first[1]; y <= cell->last[1]; ++y) {
                for (int x = cell->first[0], i = index_of(cell, x, y, z); x <= cell->last[0]; ++x, ++i) {
                    for (int m = 0; m < COMPONENTS; ++m) {
                        cell->u[i][m] += cell->rhs[i][m];
                    }
                }
            }
        }
    }
}

/* Sums over all ranks; the mean is over the interior points, as the benchmark defines it. */
static void reduce_norm(struct cells *cells, const double squares[COMPONENTS], double norm[COMPONENTS])
{
    MPI_Allreduce(squares, norm, COMPONENTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int m = 0; m < COMPONENTS; ++m) {
        norm[m] = sqrt(norm[m] / pow(cells->points - 2, 3));
    }
}

void error_norm(struct cells *cells, double norm[COMPONENTS])
{
    double squares[COMPONENTS] = {0};
    for (int c = 0; c < cells->side; ++c) {
        const struct cell *cell = &cells->cell[c];
        for (int z = 0; z < cell->size[2]; ++z) {
            for (int y = 0; y < cell->size[1]; ++y) {
                for (int x = 0, i = index_of(cell, x, y, z); x < cell->size[0]; ++x, ++i) {
                    const double at[3] = {(cell->low[0] + x) * SPACING, (cell->low[1] + y) * SPACING,
                                          (cell->low[2] + z) * SPACING};
                    double exact[COMPONENTS];
                    exact_solution(at, exact);
                    for (int m = 0; m < COMPONENTS; ++m) {
                        double difference = cell->u[i][m] - exact[m];
                        squares[m] += difference * difference;
                    }
                }
            }
        }
    }
    reduce_norm(cells, squares, norm);
}

void rhs_norm(struct cells *cells, double norm[COMPONENTS])
{
    double squares[COMPONENTS] = {0};
    for (int c = 0; c < cells->side; ++c) {
        const struct cell *cell = &cells->cell[c];
        for (int z = cell->first[2]; z <= cell->last[2]; ++z) {
            for (int y = cell->first[1]; y <= cell->last[1]; ++y) {
                for (int x = cell->first[0], i = index_of(cell, x, y, z); x <= cell->last[0]; ++x, ++i) {
                    for (int m = 0; m < COMPONENTS; ++m) {
                        squares[m] += cell->rhs[i][m] * cell->rhs[i][m];
                    }
                }
            }
        }
    }
    reduce_norm(cells, squares, norm);
}

int run_flow(int argc, char **argv, const struct flow_program *program)
{
    struct world world = start(argc, argv, program->name);
    int settings[4] = {program->steps, 1, COMPONENTS, GHOSTS}, points[3] = {POINTS, POINTS, POINTS};
    double dt = program->dt;
    for (int i = 0; i < program->shared_settings; ++i) {
        share_int(&settings[i]);
    }
    share_doubles(&dt, 1);
    share_ints(points, 3);
    struct cells cells;
    make_cells(&cells, world, program->name, points[0], program->factor_words);

    begin_warm_up();
    set_initial(&cells);
    set_forcing(&cells);
    set_initial(&cells);
    for (int step = 0; step < settings[1]; ++step) {
        program->step(&cells, dt);
    }

    set_initial(&cells);
    double begun = begin_measurement();
    for (int step = 0; step < settings[0]; ++step) {
        begin_step();
        program->step(&cells, dt);
    }
    double seconds = end_measurement(begun);

    double error[COMPONENTS], residual[COMPONENTS];
    error_norm(&cells, error);
    compute_rhs(&cells, dt);
    rhs_norm(&cells, residual);
    for (int m = 0; m < COMPONENTS; ++m) {
        residual[m] /= dt;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    destroy_cells(&cells);
    double worst = relative_difference(error, program->expected_error, COMPONENTS);
    double other = relative_difference(residual, program->expected_residual, COMPONENTS);
    return finish(program->name, slowest(seconds), other > worst ? other : worst, TOLERANCE);
}
