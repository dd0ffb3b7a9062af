/* Regions of four, two and four threads, and one more of four: who has a number has it again. With -DNESTED a region in a region. */
#include <omp.h>
#include <stdio.h>

enum { N = 65536 };
static double part[4][N];

static void work(int threads) {
#pragma omp parallel num_threads(threads)
    {
        double *mine = part[omp_get_thread_num()];
#ifdef NESTED
#pragma omp parallel num_threads(2)
        mine[omp_get_thread_num()] += 1;
#endif
        for (int i = 0; i < N; i++)
            mine[i] += 1;
    }
}

int main(void) {
    const int threads[] = {4, 2, 4, 4};
#ifdef NESTED
    omp_set_max_active_levels(2);
#endif
    for (int r = 0; r < 4; r++)
        work(threads[r]);
    printf("%.0f %.0f\n", part[0][N - 1], part[3][N - 1]);
}
