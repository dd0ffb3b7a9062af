/* Two arrays that main fills and a loop with a static schedule uses; with -DFIXED it fills them in a loop with the same one, with -DDYNAMIC they
 * are used by whoever comes next. `asks` deals iterations by hand: it asks what a loop would, and is none. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 200000, T = 4, ROUNDS = 4 };

static double asks(const double *a) {
    double sum = 0;
#pragma omp parallel num_threads(T) reduction(+ : sum)
    {
        int n = omp_get_num_threads(), me = omp_get_thread_num();
        for (int i = N / n * me; i < N / n * (me + 1); i++)
            sum += a[i];
    }
    return sum;
}

int main(void) {
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), sum = 0;
#ifdef FIXED
#pragma omp parallel for schedule(static) num_threads(T)
#endif
    for (int i = 0; i < N; i++) {
        x[i] = i;  // fill
        y[i] = 0;  // fill
    }
    for (int r = 0; r < ROUNDS; r++) {
#ifdef DYNAMIC
#pragma omp parallel for schedule(dynamic, 64) num_threads(T)  // loop
#else
#pragma omp parallel for schedule(static) num_threads(T)  // loop
#endif
        for (int i = 0; i < N; i++)  // loop
            y[i] += 2 * x[i];
    }
#ifdef ASKS
    sum = asks(x);
#else
    (void)asks;
#endif
    for (int i = 0; i < N; i += N / 8)
        sum += y[i];
    printf("%.0f\n", sum);
    free(x), free(y);
}
