/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Command line of the example programs: every option is `--name NUMBER`, with a default and a
 * range. All ranks parse the same words and so reach the same verdict; rank 0 alone prints.
 * Call after MPI_Init; on a verdict other than OPTIONS_RUN finalize and leave with that status.
 */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct option {
    const char *name; /* without the leading dashes */
    long *value;      /* holds the default before parsing */
    long least, most; /* accepted range, both ends included */
    const char *help; /* one line, with the unit */
};

enum { OPTIONS_RUN = -1, OPTIONS_HELP = 0, OPTIONS_BAD = 2 };

static inline void options_print(const char *program, const char *purpose, const struct option *options, size_t count)
{
    printf("usage: %s [--NAME NUMBER]...\n%s\n\n", program, purpose);
    for (size_t i = 0; i < count; ++i) {
        printf("  --%-10s %s (default %ld, from %ld to %ld)\n", options[i].name, options[i].help, *options[i].value,
               options[i].least, options[i].most);
    }
    printf("  --%-10s print this and stop\n", "help");
}

static inline int options_parse(int argc, char **argv, const char *program, const char *purpose,
                                const struct option *options, size_t count)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int word = 1; word < argc; word += 2) {
        if (strcmp(argv[word], "--help") == 0) {
            if (rank == 0) {
                options_print(program, purpose, options, count);
            }
            return OPTIONS_HELP;
        }
        const struct option *match = NULL;
        for (size_t i = 0; i < count; ++i) {
            if (strncmp(argv[word], "--", 2) == 0 && strcmp(argv[word] + 2, options[i].name) == 0) {
                match = &options[i];
            }
        }
        if (match == NULL) {
            if (rank == 0) {
                fprintf(stderr, "%s: unknown option `%s`; --help lists them\n", program, argv[word]);
            }
            return OPTIONS_BAD;
        }
        const char *text = word + 1 < argc ? argv[word + 1] : "";
        char *end;
        errno = 0;
        long value = strtol(text, &end, 10);
        if (end == text || *end != '\0' || errno != 0 || value < match->least || value > match->most) {
            if (rank == 0) {
                fprintf(stderr, "%s: --%s takes a number from %ld to %ld, found `%s`\n", program, match->name,
                        match->least, match->most, text);
            }
            return OPTIONS_BAD;
        }
        *match->value = value;
    }
    return OPTIONS_RUN;
}

#endif
