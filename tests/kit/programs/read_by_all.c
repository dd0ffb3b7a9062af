/* Sixteen threads read 16 MiB in order: all of it each, or, with -DOWN, a part of their own each, which they have filled. Of the first, one node has everything
   and no placement is nearer to all; of the second each node has what its threads read. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 16, WORDS = 1 << 21, PASSES = 2 };

static double *all, sums[THREADS * 8];
static pthread_barrier_t filled;

static void fill(size_t low, size_t high) {
    for (size_t i = low; i < high; i++) all[i] = i;
}

static void *body(void *argument) {
    long id = (long)argument;
    size_t low = 0, high = WORDS;
#ifdef OWN
    low = (size_t)WORDS / THREADS * id, high = low + WORDS / THREADS;
    fill(low, high);
#endif
    pthread_barrier_wait(&filled);
    double sum = 0;
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t i = low; i < high; i++) sum += all[i];
    sums[id * 8] = sum;
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    all = malloc(WORDS * sizeof *all);
    pthread_barrier_init(&filled, 0, THREADS);
#ifndef OWN
    fill(0, WORDS);
#endif
    for (long id = 0; id < THREADS; id++) pthread_create(&threads[id], 0, body, (void *)id);
    for (int id = 0; id < THREADS; id++) pthread_join(threads[id], 0);
    printf("%g\n", sums[0]);
}
