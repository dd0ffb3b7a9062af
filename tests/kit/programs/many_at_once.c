/* Threads that all live at once; each makes references and waits for the others. Prints how many there were. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int cells[1024];
static pthread_barrier_t all;

static void *work(void *number) {
    for (int i = 0; i < 50; i++)
        cells[((long)number * 16 + i) % 1024]++;
    pthread_barrier_wait(&all);
    return NULL;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 100;
    pthread_t *threads = calloc(n, sizeof *threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    pthread_barrier_init(&all, NULL, n + 1);
    for (long i = 0; i < n; i++)
        if (pthread_create(&threads[i], &small, work, (void *)i))
            return 1;
    pthread_barrier_wait(&all);
    for (long i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", n);
    return 0;
}
