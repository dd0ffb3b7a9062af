/* kit
class = "initialised by main, main as worker"
truth = "Main is one of six workers, and fills everybody's part before it starts the others."
build = ["clang", "-O1"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["u", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { T = 6, N = 240000 };
static double *u;
static pthread_barrier_t barrier;

static void fill(long from, long to) {
    for (long i = from; i < to; i++)
        u[i] = i % 10;  // fill
}

static void *work(void *p) {
    long id = (long)p, from = id * N / T, to = (id + 1) * N / T;
#ifdef FIXED
    fill(from, to);
#endif
    for (int step = 0; step < 3; step++) {
        pthread_barrier_wait(&barrier);
        for (long i = from + 1; i < to; i++) u[i] = 0.5 * (u[i] + u[i - 1]);
    }
    return NULL;
}

int main(void) {
    pthread_t thread[T];
    u = malloc(N * sizeof *u);  // made
    pthread_barrier_init(&barrier, NULL, T);
#ifndef FIXED
    fill(0, N);  // fill
#endif
    for (long i = 1; i < T; i++) pthread_create(&thread[i], NULL, work, (void *)i);
    work(NULL);
    for (int i = 1; i < T; i++) pthread_join(thread[i], NULL);
    printf("%f\n", u[5]);
}
