/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * tasks: a picture of the Mandelbrot set, in tiles that a master hands out to workers. Every worker
 * holds `ahead` tiles, so that it never waits for the next; a tile that exceeds its budget of
 * iterations comes back as a wish to split, and its four quarters go back into the bag. The tag
 * tells what a message is and results are run-length coded, so the master probes with both
 * wildcards, asks for the size, and receives. Workers take any tag from rank 0.
 * Check: every pixel of the assembled picture equals the one that the master computes alone.
 * With one rank the master does the tiles itself, without messages.
 */
#include "common/options.h"
#include "common/tally.h"

enum tag { TAG_RUNS = 1, TAG_SPLIT, TAG_TILE, TAG_STOP };

struct tile {
    int x, y, size; /* pixels; square */
};

enum { TILE_INTS = 3, LEAST_SPLIT = 8 };

struct picture {
    long size;   /* pixels along each side */
    long most;   /* iterations of a pixel at most */
    long budget; /* iterations of a tile at most, unless it is too small to split */
};

/* Iterations until the orbit of a pixel leaves the circle of radius 2, over [-2, 0.5] x [-1.25,
 * 1.25]. */
static int escape_time(const struct picture *picture, int x, int y)
{
    double step = 2.5 / (double)picture->size;
    double a = -2 + (x + 0.5) * step, b = -1.25 + (y + 0.5) * step;
    double u = 0, v = 0;
    int n = 0;
    while (n < picture->most && u * u + v * v <= 4) {
        double next = u * u - v * v + a;
        v = 2 * u * v + b;
        u = next;
        ++n;
    }
    return n;
}

/* Writes the tile as pairs (length, value), row by row, and returns the number of ints; 0 if the
 * budget ran out. */
static int tile_compute(const struct picture *picture, const struct tile *tile, int *runs)
{
    int filled = 0;
    long spent = 0;
    for (int pixel = 0; pixel < tile->size * tile->size; ++pixel) {
        int value = escape_time(picture, tile->x + pixel % tile->size, tile->y + pixel / tile->size);
        spent += value;
        if (spent > picture->budget && tile->size > LEAST_SPLIT) {
            return 0;
        }
        if (filled > 0 && runs[filled - 1] == value) {
            ++runs[filled - 2];
        } else {
            runs[filled++] = 1;
            runs[filled++] = value;
        }
    }
    return filled;
}

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (memory == NULL) {
        fprintf(stderr, "tasks: no memory for %zu values\n", count);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}

/* What the master knows: open tiles (a stack), tiles ever handed out, and the picture so far. */
struct board {
    struct picture picture;
    struct tile *open, *handed;
    size_t open_count, handed_count;
    int *pixels; /* -1 where nothing has come yet */
};

static void board_split(struct board *board, const struct tile *tile)
{
    int half = tile->size / 2;
    for (int quarter = 0; quarter < 4; ++quarter) {
        board->open[board->open_count++] =
            (struct tile){tile->x + quarter % 2 * half, tile->y + quarter / 2 * half, half};
    }
}

/* Returns whether the runs fill the tile exactly, over pixels that were empty. */
static bool board_paint(struct board *board, const struct tile *tile, const int *runs, int count)
{
    int pixel = 0, area = tile->size * tile->size;
    for (int run = 0; run + 1 < count; run += 2) {
        for (int k = 0; k < runs[run]; ++k, ++pixel) {
            if (pixel == area) {
                return false;
            }
            long row = tile->y + pixel / tile->size, column = tile->x + pixel % tile->size;
            int *place = &board->pixels[row * board->picture.size + column];
            if (*place != -1) {
                return false;
            }
            *place = runs[run + 1];
        }
    }
    return pixel == area;
}

static void board_create(struct board *board, const struct picture *picture, long tile_size)
{
    size_t size = (size_t)picture->size, area = size * size;
    *board = (struct board){.picture = *picture};
    /* Tiles and their quarters and so on: less than 4/3 of the smallest ones that cover the
     * picture. */
    size_t tiles = area / (LEAST_SPLIT * LEAST_SPLIT) * 4 / 3;
    board->open = allocate(tiles, sizeof *board->open);
    board->handed = allocate(tiles, sizeof *board->handed);
    board->pixels = allocate(area, sizeof *board->pixels);
    for (size_t i = 0; i < area; ++i) {
        board->pixels[i] = -1;
    }
    for (int y = 0; y < picture->size; y += (int)tile_size) {
        for (int x = 0; x < picture->size; x += (int)tile_size) {
            board->open[board->open_count++] = (struct tile){x, y, (int)tile_size};
        }
    }
}

static long board_wrong_pixels(const struct board *board)
{
    long wrong = 0;
    for (int y = 0; y < board->picture.size; ++y) {
        for (int x = 0; x < board->picture.size; ++x) {
            wrong += board->pixels[y * board->picture.size + x] != escape_time(&board->picture, x, y);
        }
    }
    return wrong;
}

/* A nonblocking send, since the worker may itself be sending. The program does not wait for its completion: the
 * reply shows that it has arrived. Until then the tile is not moved. */
static void master_hand_out(struct board *board, int worker, MPI_Comm comm, struct tally *tally)
{
    MPI_Request request;
    struct tile *tile = &board->handed[board->handed_count++];
    *tile = board->open[--board->open_count];
    MPI_Isend(tile, TILE_INTS, MPI_INT, worker, TAG_TILE, comm, &request);
    MPI_Request_free(&request);
    tally_send(tally, TILE_INTS, MPI_INT);
}

/* Hands out tiles until none is open and none is under way. A reply begins with its tile. */
static bool master_run(struct board *board, int workers, long ahead, bool corrupt, long room, MPI_Comm comm,
                       struct tally *tally)
{
    bool sound = true;
    int *reply = allocate((size_t)room, sizeof *reply);
    long *held = allocate((size_t)workers + 1, sizeof *held);
    long under_way = 0;
    while (board->open_count > 0 || under_way > 0) {
        /* Fill up in turns, so that no worker holds two tiles while another has none. */
        for (long depth = 1; depth <= ahead; ++depth) {
            for (int worker = 1; worker <= workers && board->open_count > 0; ++worker) {
                if (held[worker] < depth) {
                    master_hand_out(board, worker, comm, tally);
                    ++held[worker];
                    ++under_way;
                }
            }
        }
        MPI_Status status;
        int count;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        MPI_Recv(reply, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        tally_receive(tally, &status, MPI_INT);
        --held[status.MPI_SOURCE];
        --under_way;
        struct tile tile = {reply[0], reply[1], reply[2]};
        if (status.MPI_TAG == TAG_SPLIT) {
            board_split(board, &tile);
        } else {
            if (corrupt) {
                reply[TILE_INTS + 1] += 1;
                corrupt = false;
            }
            sound = board_paint(board, &tile, reply + TILE_INTS, count - TILE_INTS) && sound;
        }
    }
    for (int worker = 1; worker <= workers; ++worker) {
        MPI_Send(NULL, 0, MPI_INT, worker, TAG_STOP, comm);
        tally_send(tally, 0, MPI_INT);
    }
    free(reply);
    free(held);
    return sound;
}

static void worker_run(const struct picture *picture, long room, MPI_Comm comm, struct tally *tally)
{
    int *reply = allocate((size_t)room, sizeof *reply);
    for (;;) {
        MPI_Status status;
        MPI_Recv(reply, TILE_INTS, MPI_INT, 0, MPI_ANY_TAG, comm, &status);
        tally_receive(tally, &status, MPI_INT);
        if (status.MPI_TAG == TAG_STOP) {
            break;
        }
        struct tile tile = {reply[0], reply[1], reply[2]};
        int filled = tile_compute(picture, &tile, reply + TILE_INTS);
        MPI_Send(reply, TILE_INTS + filled, MPI_INT, 0, filled == 0 ? TAG_SPLIT : TAG_RUNS, comm);
        tally_send(tally, TILE_INTS + filled, MPI_INT);
    }
    free(reply);
}

static bool alone_run(struct board *board, long room)
{
    bool sound = true;
    int *runs = allocate((size_t)room, sizeof *runs);
    while (board->open_count > 0) {
        struct tile tile = board->open[--board->open_count];
        int filled = tile_compute(&board->picture, &tile, runs);
        if (filled == 0) {
            board_split(board, &tile);
        } else {
            sound = board_paint(board, &tile, runs, filled) && sound;
        }
    }
    free(runs);
    return sound;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct picture picture = {.size = 512, .most = 500, .budget = 40000};
    long tile_size = 32, ahead = 3, corrupt = 0;
    const struct option options[] = {
        {"size", &picture.size, 8, 8192, "pixels along each side, a multiple of --tile"},
        {"tile", &tile_size, 8, 1024, "pixels along each side of a first tile, a power of two"},
        {"most", &picture.most, 1, 1000000, "iterations of a pixel at most"},
        {"budget", &picture.budget, 1, 1000000000, "iterations of a tile before it asks to be split"},
        {"ahead", &ahead, 1, 1000, "tiles that a worker holds at most"},
        {"corrupt", &corrupt, 0, 1, "1: spoil one received run; the check must then fail"},
    };
    int status = options_parse(argc, argv, "tasks", "Mandelbrot tiles from a master to workers, both wildcards.", options,
                               sizeof options / sizeof options[0]);
    int ranks, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (status == OPTIONS_RUN && ((tile_size & (tile_size - 1)) != 0 || picture.size % tile_size != 0)) {
        if (rank == 0) {
            fprintf(stderr, "tasks: --tile takes a power of two that divides --size %ld, found `%ld`\n", picture.size,
                    tile_size);
        }
        status = OPTIONS_BAD;
    }
    if (status != OPTIONS_RUN) {
        MPI_Finalize();
        return status;
    }

    struct tally tally = {0, 0, 0, 0};
    long room = TILE_INTS + 2 * tile_size * tile_size; /* every pixel a run of its own */
    bool right = true;
    if (rank > 0) {
        worker_run(&picture, room, MPI_COMM_WORLD, &tally);
    } else {
        struct board board;
        board_create(&board, &picture, tile_size);
        bool sound = ranks > 1 ? master_run(&board, ranks - 1, ahead, corrupt == 1, room, MPI_COMM_WORLD, &tally)
                               : alone_run(&board, room);
        long wrong = board_wrong_pixels(&board);
        right = sound && wrong == 0;
        printf("tasks: %ld x %ld pixels, %ld wrong\n", picture.size, picture.size, wrong);
        if (!right) {
            fprintf(stderr, "tasks: WRONG: %ld pixels differ from the serial picture%s\n", wrong,
                    sound ? "" : ", and a tile came twice or in the wrong size");
        }
        free(board.open);
        free(board.handed);
        free(board.pixels);
    }
    MPI_Bcast(&right, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
    right = tally_report(&tally, "tasks", MPI_COMM_WORLD) && right;
    MPI_Finalize();
    return right ? 0 : 1;
}
