/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What a C library does for a program: output, memory, mathematics, sorting, files, rounding modes. */

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma STDC FENV_ACCESS ON

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void numbers(void)
{
    /* More than 1 KiB: glibc then asks how much memory there is. */
    enum { COUNT = 400 };
    static double list[COUNT];
    unsigned state = 1;
    for (int i = 0; i < COUNT; i++) {
        state = state * 1103515245u + 12345u;
        list[i] = sin(i) * exp(i / 200.0) + state / 4294967296.0;
    }
    qsort(list, COUNT, sizeof list[0], compare);
    for (int i = 0; i < COUNT; i += 90)
        printf("%d %.17g %a\n", i, list[i], list[i]);
    printf("%g %g %g %g\n", sqrt(2), pow(2, 0.5), log(-1.0), 1 / 0.0 * 0);
    printf("%.10f %.10f %e\n", (double)cosf(1.5f), tgamma(5.5), fma(3, 4, -12));
    printf("%ld %d %g\n", lrint(2.5), (int)-3.9, strtod("1e-310", NULL));
}

static void modes(void)
{
    static const int all[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    volatile double one = 1, three = 3;
    for (int i = 0; i < 4; i++) {
        feclearexcept(FE_ALL_EXCEPT);
        fesetround(all[i]);
        double third = one / three;
        double whole = nearbyint(-2.5);
        int raised = fetestexcept(FE_ALL_EXCEPT);
        fesetround(FE_TONEAREST);
        printf("%a %g %d\n", third, whole, raised);
    }
}

static void memory(void)
{
    char *blocks[64];
    size_t sum = 0;
    for (int i = 0; i < 64; i++) {
        size_t bytes = (size_t)1 << i % 19;
        blocks[i] = malloc(bytes);
        memset(blocks[i], i, bytes);
    }
    for (int i = 0; i < 64; i += 2)
        blocks[i] = realloc(blocks[i], 300000);
    for (int i = 0; i < 64; i++) {
        sum += (unsigned char)blocks[i][0];
        free(blocks[i]);
    }
    printf("%zu\n", sum);
}

static void files(void)
{
    char line[80];
    const char *name = "matchbench-library.txt";
    FILE *file = fopen(name, "w+");
    if (file == NULL) {
        puts("no file");
        return;
    }
    for (int i = 0; i < 400; i++)
        fprintf(file, "line %d\n", i);
    fseek(file, -9, SEEK_END);
    if (fgets(line, sizeof line, file) != NULL)
        printf("%ld %s", ftell(file), line);
    fclose(file);
    remove(name);
    printf("%d\n", fopen(name, "r") == NULL);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        printf("%d: %s\n", i, argv[i]);
    numbers();
    modes();
    memory();
    files();
    fprintf(stderr, "to standard error\n");
    puts("all done");
    return 7;
}
