// SPDX-License-Identifier: Apache-2.0 OR MIT
// Floating point on its own, for tests and benchmarks of instruction sets: products of matrices, a Cholesky
// decomposition with its solution, and a polynomial of single precision. Status 1 if a residual is too large.

#include "host.h"

enum { N = 24, ROUNDS = 8 };

static double matrix[N][N], product[N][N], factor[N][N], right[N], solution[N];

static double root(double x)
{
    double y;
    __asm__("fsqrt.d %0, %1" : "=f"(y) : "f"(x));
    return y;
}

static double absolute(double x)
{
    return x < 0 ? -x : x;
}

static void fill(int round)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            matrix[i][j] = 1.0 / (i + j + 1 + round);
        matrix[i][i] += 2;
        right[i] = i * 0.25 - round;
    }
}

static double trace(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double element = 0;
            for (int k = 0; k < N; k++)
                element += matrix[i][k] * matrix[k][j];
            product[i][j] = element;
            sum += i == j ? element : 0;
        }
    return sum;
}

// Solves matrix * solution = right; returns the largest residual.
static double solve(void)
{
    for (int j = 0; j < N; j++) {
        double diagonal = matrix[j][j];
        for (int k = 0; k < j; k++)
            diagonal -= factor[j][k] * factor[j][k];
        factor[j][j] = root(diagonal);
        for (int i = j + 1; i < N; i++) {
            double element = matrix[i][j];
            for (int k = 0; k < j; k++)
                element -= factor[i][k] * factor[j][k];
            factor[i][j] = element / factor[j][j];
        }
    }
    for (int i = 0; i < N; i++) {
        double sum = right[i];
        for (int k = 0; k < i; k++)
            sum -= factor[i][k] * solution[k];
        solution[i] = sum / factor[i][i];
    }
    for (int i = N - 1; i >= 0; i--) {
        double sum = solution[i];
        for (int k = i + 1; k < N; k++)
            sum -= factor[k][i] * solution[k];
        solution[i] = sum / factor[i][i];
    }
    double worst = 0;
    for (int i = 0; i < N; i++) {
        double residual = -right[i];
        for (int j = 0; j < N; j++)
            residual += matrix[i][j] * solution[j];
        if (absolute(residual) > worst)
            worst = absolute(residual);
    }
    return worst;
}

// The exponential function of x by its series.
static float series(float x)
{
    float sum = 1;
    for (int i = 16; i > 0; i--)
        sum = 1 + sum * x / (float)i;
    return sum;
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        fill(round);
        double sum = trace();
        if (solve() > 1e-12 || sum < 4 * N)
            return 1;
        for (int i = 0; i < 40; i++) {
            float x = (float)i / 40, one = series(x) * series(-x);
            if (absolute(one - 1) > 1e-6)
                return 1;
        }
    }
    return 0;
}
