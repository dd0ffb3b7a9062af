/* kit
class = "thread generations, clean"
truth = "Each generation of threads takes the same parts as the one that touched them first: nothing is remote, nothing is shared."
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

static void *fill(void *p) {
    intptr_t t = (intptr_t)p;
    for (long i = t * CELLS / THREADS; i < (t + 1) * CELLS / THREADS; i++) cells[i].value = i;
    return NULL;
}

static void *scale(void *p) {
    intptr_t t = (intptr_t)p;
    for (long i = t * CELLS / THREADS; i < (t + 1) * CELLS / THREADS; i++) cells[i].value = cells[i].value * 2 + 1;
    return NULL;
}

static void in_parallel(void *(*f)(void *)) {
    pthread_t thread[THREADS];
    for (intptr_t t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, f, (void *)t);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 2;
    cells = malloc(CELLS * sizeof *cells);
    in_parallel(fill);
    for (int r = 0; r < rounds; r++) in_parallel(scale);
    printf("%g\n", cells[7].value);
}
