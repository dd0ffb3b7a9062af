/* kit
class = "thread generations, clean"
truth = "The arrays, parts and sums of fork_join_scale.c by four threads that live on: the same cost to the last reference but main's."
build = ["gcc", "-O1"]
args = ["2"]
required = true
*/
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, CELLS = 400000 };
struct cell { double value, rest[7]; };
static volatile struct cell *cells;
static pthread_barrier_t barrier;
static int rounds;

static void *work(void *p) {
    intptr_t t = (intptr_t)p;
    for (long i = t * CELLS / THREADS; i < (t + 1) * CELLS / THREADS; i++) cells[i].value = i;
    for (int r = 0; r < rounds; r++) {
        pthread_barrier_wait(&barrier);
        for (long i = t * CELLS / THREADS; i < (t + 1) * CELLS / THREADS; i++) cells[i].value = cells[i].value * 2 + 1;
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread[THREADS];
    rounds = argc > 1 ? atoi(argv[1]) : 2;
    cells = malloc(CELLS * sizeof *cells);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (intptr_t t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    printf("%g\n", cells[7].value);
}
