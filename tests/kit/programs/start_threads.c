/* Busy threads first, to fill buffers; then pairs of threads that do next to nothing, 1,500 times: prints how many milliseconds
 * the slowest pair took to start and to end, and the fiftieth slowest, by the clock. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BUSY = 4, PAIRS = 1500 };
static volatile int big[1 << 20], small[64];

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void *busy(void *p) {
    unsigned s = (unsigned)(intptr_t)p;
    for (long i = 0; i < 10000000; i++) {
        s = s * 1103515245 + 12345;
        big[s >> 12]++;
    }
    return NULL;
}

static void *brief(void *p) {
    small[(intptr_t)p & 63]++;
    return NULL;
}

static int by_size(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? 1 : -1; }

int main(void) {
    static double took[PAIRS];
    pthread_t thread[BUSY];
    for (intptr_t i = 0; i < BUSY; i++) pthread_create(&thread[i], NULL, busy, (void *)i);
    for (int i = 0; i < BUSY; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < PAIRS; i++) {
        double began = now_ms();
        for (intptr_t k = 0; k < 2; k++) pthread_create(&thread[k], NULL, brief, (void *)k);
        for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
        took[i] = now_ms() - began;
    }
    qsort(took, PAIRS, sizeof *took, by_size);
    printf("%.3f %.3f\n", took[0], took[49]);
}
