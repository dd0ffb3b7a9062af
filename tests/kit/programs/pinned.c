/* Eight threads with parts of their own, bound by themselves: MODE 0 thread i to processor i, 1 to 7 - i, 2 to i % 2 (all that a
 * small host has), 3 to 100 + i (no machine here has them), 4 not at all, 5 main binds them after creation to 7 - i, 6 by
 * attributes to 7 - i. The call may fail where the host lacks the processor. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { T = 8, N = 8192 };
static double a[T][N] __attribute__((aligned(4096)));
static int mode;
static pthread_barrier_t all;

static cpu_set_t wanted(int i) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(mode == 0 ? i : mode == 2 ? i % 2 : mode == 3 ? 100 + i : 7 - i, &set);
    return set;
}

static void *work(void *argument) {
    int id = (int)(long)argument;
    cpu_set_t set = wanted(id);
    if (mode < 4) sched_setaffinity(0, sizeof set, &set);
    pthread_barrier_wait(&all);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < N; i++) a[id][i] += i;
    return NULL;
}

int main(int argc, char **argv) {
    mode = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t[T];
    pthread_barrier_init(&all, NULL, T + 1);
    for (long i = 0; i < T; i++) {
        pthread_attr_t attributes;
        cpu_set_t set = wanted(i);
        pthread_attr_init(&attributes);
        if (mode == 6) pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
        if (pthread_create(&t[i], &attributes, work, (void *)i)) return 2;
        pthread_attr_destroy(&attributes);
        if (mode == 5) pthread_setaffinity_np(t[i], sizeof set, &set);
    }
    pthread_barrier_wait(&all);
    for (int i = 0; i < T; i++) pthread_join(t[i], NULL);
    printf("%f\n", a[3][5]);
    return 0;
}
