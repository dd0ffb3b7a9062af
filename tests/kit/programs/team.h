/* A team of threads with a barrier, for the programs of the kit that are about something else. */
#ifndef TEAM_H
#define TEAM_H
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t team_barrier;
static void body(int id);

static void *team_thread(void *id) {
    body((int)(intptr_t)id);
    return NULL;
}

static inline void meet(void) { pthread_barrier_wait(&team_barrier); }

/* Runs body(0) to body(threads - 1), each on a thread of its own. */
static void team(int threads) {
    pthread_t thread[64];
    pthread_barrier_init(&team_barrier, NULL, threads);
    for (intptr_t i = 0; i < threads; i++) pthread_create(&thread[i], NULL, team_thread, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}
#endif
