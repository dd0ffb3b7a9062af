// Threads that go through parts of their own of memory, in order: bandwidth THREADS PASSES read|copy; prints the seconds of the passes.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS = 8 << 20, THREADS_MAX = 256, APART = 16 };

static double *from, *to, sums[THREADS_MAX * APART];
static int threads, passes, copies;
static pthread_barrier_t start;

static void *work(void *argument) {
    long t = (long)argument;
    size_t low = (size_t)WORDS / threads * t, high = (size_t)WORDS / threads * (t + 1);
    for (size_t i = low; i < high; i++) from[i] = to[i] = i;
    pthread_barrier_wait(&start);
    double sum = 0;
    for (int pass = 0; pass < passes; pass++) {
        __asm__ volatile("" ::"r"(from), "r"(to) : "memory"); // Else passes become one.
        if (copies)
            for (size_t i = low; i < high; i++) to[i] = from[i] + pass;
        else
            for (size_t i = low; i < high; i++) sum += from[i];
    }
    sums[t * APART] = sum;
    pthread_barrier_wait(&start);
    return 0;
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec * 1e-9;
}

int main(int count, char **words) {
    threads = count == 4 ? atoi(words[1]) : 0;
    if (threads < 1 || threads > THREADS_MAX) return 2;
    passes = atoi(words[2]);
    copies = !strcmp(words[3], "copy");
    from = malloc(WORDS * sizeof *from);
    to = malloc(WORDS * sizeof *to);
    if (!from || !to) return 1;
    pthread_t all[THREADS_MAX];
    pthread_barrier_init(&start, 0, threads + 1);
    for (long t = 0; t < threads; t++) pthread_create(&all[t], 0, work, (void *)t);
    pthread_barrier_wait(&start);
    double began = now();
    pthread_barrier_wait(&start);
    printf("%.9f\n", now() - began);
    double sum = 0;
    for (int t = 0; t < threads; t++) {
        pthread_join(all[t], 0);
        sum += sums[t * APART];
    }
    return sum < 0; // Who does not look at sums need not make them.
}
