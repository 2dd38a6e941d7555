/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "cells.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_FACE = 1, TAG_FORWARD = 7, TAG_BACKWARD = 8 };

static int modulo(int value, int base)
{
    return (value % base + base) % base;
}

static void allocate_cell(struct cell *cell, int factor_words)
{
    size_t volume = (size_t)cell->volume;
    cell->u = allocate(volume, sizeof *cell->u);
    cell->rhs = allocate(volume, sizeof *cell->rhs);
    cell->forcing = allocate(volume, sizeof *cell->forcing);
    cell->inverse_density = allocate(volume, sizeof(double));
    for (int axis = 0; axis < 3; ++axis) {
        cell->velocity[axis] = allocate(volume, sizeof(double));
    }
    cell->kinetic = allocate(volume, sizeof(double));
    cell->sound = allocate(volume, sizeof(double));
    cell->factors = allocate(volume * (size_t)factor_words, sizeof(double));
}

static void make_cell(struct cells *cells, int c, int factor_words)
{
    struct cell *cell = &cells->cell[c];
    int side = cells->side, points = cells->points;
    cell->at[0] = modulo(cells->world.rank % side + c, side);
    cell->at[1] = modulo(cells->world.rank / side - c, side);
    cell->at[2] = c;
    cell->volume = 1;
    for (int axis = 0; axis < 3; ++axis) {
        int at = cell->at[axis], share = points / side, larger = points % side;
        cell->low[axis] = at * share + (at < larger ? at : larger);
        cell->size[axis] = share + (at < larger);
        cell->first[axis] = at == 0 ? 1 : 0;
        cell->last[axis] = cell->size[axis] - (at == side - 1 ? 2 : 1);
        cell->step[axis] = cell->volume;
        cell->origin += GHOSTS * cell->step[axis];
        cell->volume *= cell->size[axis] + 2 * GHOSTS;
    }
    allocate_cell(cell, factor_words);
}

void make_cells(struct cells *cells, struct world world, const char *name, int points, int factor_words)
{
    *cells = (struct cells){.world = world, .points = points, .side = 1};
    while (cells->side * cells->side < world.ranks) {
        ++cells->side;
    }
    int side = cells->side;
    if (side * side != world.ranks || side > SIDE_MOST || points / side < GHOSTS) {
        refuse(name, "another number of ranks", "1, 4, 9, 16, 25 or 36 ranks");
    }
    cells->widest = (points + side - 1) / side;
    int i = world.rank % side, j = world.rank / side;
    for (int up = 0; up < 2; ++up) {
        int move = up ? 1 : -1;
        cells->neighbour[0][up] = j * side + modulo(i + move, side);
        cells->neighbour[1][up] = modulo(j + move, side) * side + i;
        cells->neighbour[2][up] = modulo(j + move, side) * side + modulo(i - move, side);
    }
    for (int c = 0; c < side; ++c) {
        make_cell(cells, c, factor_words);
    }
    /* The largest message is a face of all cells, or 30 words for each line of a cell. */
    size_t line = (size_t)cells->widest + 1, face = line * line * (size_t)(GHOSTS * COMPONENTS * side);
    size_t room = face > line * line * 30 ? face : line * line * 30;
    for (int way = 0; way < 6; ++way) {
        cells->out[way] = allocate(room, sizeof(double));
        cells->in[way] = allocate(room, sizeof(double));
    }
}

void destroy_cells(struct cells *cells)
{
    for (int c = 0; c < cells->side; ++c) {
        struct cell *cell = &cells->cell[c];
        void *all[] = {cell->u,           cell->rhs,         cell->forcing, cell->inverse_density, cell->velocity[0],
                       cell->velocity[1], cell->velocity[2], cell->kinetic, cell->sound,           cell->factors};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
            free(all[i]);
        }
    }
    for (int way = 0; way < 6; ++way) {
        free(cells->out[way]);
        free(cells->in[way]);
    }
}

/* Moves the points first to first + GHOSTS - 1 along an axis between u and a buffer; returns the words. */
static int move_layers(const struct cell *cell, int axis, int first, double *buffer, bool pack)
{
    int low[3] = {0, 0, 0}, high[3] = {cell->size[0], cell->size[1], cell->size[2]}, count = 0;
    low[axis] = first;
    high[axis] = first + GHOSTS;
    for (int z = low[2]; z < high[2]; ++z) {
        for (int y = low[1]; y < high[1]; ++y) {
            for (int x = low[0]; x < high[0]; ++x, count += COMPONENTS) {
                double *point = cell->u[index_of(cell, x, y, z)];
                memcpy(pack ? &buffer[count] : point, pack ? point : &buffer[count], COMPONENTS * sizeof *point);
            }
        }
    }
    return count;
}

/* All cells that have a neighbour in this direction. */
static int move_faces(struct cells *cells, int axis, int up, double *buffer, bool pack)
{
    int count = 0;
    for (int c = 0; c < cells->side; ++c) {
        const struct cell *cell = &cells->cell[c];
        if (cell->at[axis] != (up ? cells->side - 1 : 0)) {
            int outside = up ? cell->size[axis] : -GHOSTS, inside = up ? cell->size[axis] - GHOSTS : 0;
            count += move_layers(cell, axis, pack ? inside : outside, &buffer[count], pack);
        }
    }
    return count;
}

void exchange_faces(struct cells *cells)
{
    if (cells->side == 1) {
        return;
    }
    MPI_Request request[12];
    for (int way = 0; way < 6; ++way) {
        /* Cells of different sizes: the faces received need not have the size of those sent. */
        int axis = way / 2, up = way % 2, count = 0;
        for (int c = 0; c < cells->side; ++c) {
            const struct cell *cell = &cells->cell[c];
            if (cell->at[axis] != (up ? cells->side - 1 : 0)) {
                count += GHOSTS * COMPONENTS * cell->size[(axis + 1) % 3] * cell->size[(axis + 2) % 3];
            }
        }
        MPI_Irecv(cells->in[way], count, MPI_DOUBLE, cells->neighbour[axis][up], TAG_FACE + (way ^ 1), MPI_COMM_WORLD,
                  &request[way]);
    }
    for (int way = 0; way < 6; ++way) {
        int count = move_faces(cells, way / 2, way % 2, cells->out[way], true);
        MPI_Isend(cells->out[way], count, MPI_DOUBLE, cells->neighbour[way / 2][way % 2], TAG_FACE + way,
                  MPI_COMM_WORLD, &request[6 + way]);
    }
    MPI_Waitall(12, request, MPI_STATUSES_IGNORE);
    for (int way = 0; way < 6; ++way) {
        move_faces(cells, way / 2, way % 2, cells->in[way], false);
    }
}

void for_lines(struct cell *cell, int axis, int words, const double *in, double *out, line_function *work)
{
    int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    for (int j = cell->first[b]; j <= cell->last[b]; ++j) {
        for (int i = cell->first[a]; i <= cell->last[a]; ++i) {
            int at = cell->origin + i * cell->step[a] + j * cell->step[b] + cell->first[axis] * cell->step[axis];
            work(cell, axis, at, in, out);
            in = in != NULL ? in + words : NULL;
            out = out != NULL ? out + words : NULL;
        }
    }
}

static struct cell *cell_at(struct cells *cells, int axis, int stage)
{
    struct cell *cell = cells->cell;
    while (cell->at[axis] != stage) {
        ++cell;
    }
    return cell;
}

static int words(const struct cells *cells, const struct cell *cell, int axis, const struct sweep *sweep, int each)
{
    int a = (axis + 1) % 3, b = (axis + 2) % 3;
    int lines = (cell->last[a] - cell->first[a] + 1) * (cell->last[b] - cell->first[b] + 1);
    return each * (sweep->padded ? (cells->widest + 1) * (cells->widest + 1) : lines);
}

/* One cell of a sweep: waits for what the cell before sent, computes, and sends to the cell after. The
 * send may be pending while the next cell waits; `sent` is its request. */
static void run_stage(struct cells *cells, int axis, const struct sweep *sweep, int stage, bool back,
                      MPI_Request *sent)
{
    struct cell *cell = cell_at(cells, axis, stage);
    int count = words(cells, cell, axis, sweep, back ? sweep->backward_words : sweep->forward_words);
    int tag = back ? TAG_BACKWARD : TAG_FORWARD, last = cells->side - 1;
    double *in = NULL, *out = NULL;
    if (stage != (back ? last : 0)) {
        in = cells->in[0];
        MPI_Request received;
        MPI_Irecv(in, count, MPI_DOUBLE, cells->neighbour[axis][back], tag, MPI_COMM_WORLD, &received);
        MPI_Wait(&received, MPI_STATUS_IGNORE);
        MPI_Wait(sent, MPI_STATUS_IGNORE);
    }
    if (stage != (back ? 0 : last)) {
        out = cells->out[0];
    }
    (back ? sweep->backward : sweep->forward)(cell, axis, in, out);
    if (out != NULL) {
        MPI_Isend(out, count, MPI_DOUBLE, cells->neighbour[axis][!back], tag, MPI_COMM_WORLD, sent);
    }
}

void run_sweep(struct cells *cells, int axis, const struct sweep *sweep)
{
    MPI_Request sent = MPI_REQUEST_NULL;
    for (int stage = 0; stage < cells->side; ++stage) {
        run_stage(cells, axis, sweep, stage, false, &sent);
    }
    for (int stage = cells->side - 1; stage >= 0; --stage) {
        run_stage(cells, axis, sweep, stage, true, &sent);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}
