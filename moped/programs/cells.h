/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A cube of grid points in cells, for solvers that sweep along each axis.
 *
 * With q x q ranks there are q^3 cells, and each rank has q of them, placed so that every plane of cells
 * has one cell of each rank: while a sweep moves along any axis, all ranks compute. Cell c of rank (i, j)
 * is at (i + c, j - c, c) modulo q, and its neighbour in a given direction belongs to the same rank for
 * all c. Source: Bruno, Cappello, Implementing the beam and warming method on the hypercube, 1988.
 */
#ifndef MB_PROGRAMS_CELLS_H
#define MB_PROGRAMS_CELLS_H

#include "kernel.h"

enum { COMPONENTS = 5, GHOSTS = 2, SIDE_MOST = 6 };

struct cell {
    int at[3];     /* place among the cells */
    int low[3];    /* grid coordinates of the first own point */
    int size[3];   /* own points along each axis */
    int first[3];  /* own points that are not on the surface of the cube: first to last, counted in the cell */
    int last[3];
    int step[3];   /* distance of neighbours in the arrays */
    int origin;    /* index of the first own point */
    int volume;    /* points of an array, with ghost points */
    double (*u)[COMPONENTS], (*rhs)[COMPONENTS], (*forcing)[COMPONENTS];
    /* Functions of u, also in the first layer of ghost points. */
    double *inverse_density, *velocity[3], *kinetic, *sound; /* kinetic: energy for each mass */
    double *factors; /* of the solver, `factor_words` for each point */
};

struct cells {
    struct world world;
    int points; /* of the grid along each axis */
    int side;   /* q */
    int widest; /* own points of the largest cell along an axis */
    int neighbour[3][2];
    struct cell cell[SIDE_MOST];
    double *out[6], *in[6];
};

/* What a solver does with one cell of a sweep. Words are doubles for each line of points along the axis. */
struct sweep {
    int forward_words, backward_words;
    bool padded; /* messages have room for (widest + 1)^2 lines, as those of the original BT */
    /* `in` is what the cell before sent, null in the first cell; `out` is for the cell after, null in the last. */
    void (*forward)(struct cell *cell, int axis, const double *in, double *out);
    void (*backward)(struct cell *cell, int axis, const double *in, double *out);
};

/* Refuses numbers of ranks that are not squares, or whose cells would have less than two points. */
void make_cells(struct cells *cells, struct world world, const char *name, int points, int factor_words);
void destroy_cells(struct cells *cells);

static inline int index_of(const struct cell *cell, int x, int y, int z)
{
    return cell->origin + x * cell->step[0] + y * cell->step[1] + z * cell->step[2];
}

/* Fills the ghost points of u from the neighbours' cells, two layers on each side. */
void exchange_faces(struct cells *cells);

/* Calls `work` for each line of interior points along an axis, with the index of its first point. A line
 * has `words` in each buffer that is not null. */
typedef void line_function(struct cell *cell, int axis, int index, const double *in, double *out);
void for_lines(struct cell *cell, int axis, int words, const double *in, double *out, line_function *work);

/* Forward through the cells along an axis, and back. */
void run_sweep(struct cells *cells, int axis, const struct sweep *sweep);

#endif
