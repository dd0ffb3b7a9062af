/* Threads go from one part of an array to the next, four times. `phases three`: between them they cross three barriers, one each;
 * `phases one`: one barrier, three times. Both are four phases. `phases rwlock`: readers and a writer of one reader-writer lock, and
 * no phase but one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define STEPS 4
#define WORDS 65536
#define READS 30

static pthread_barrier_t barriers[STEPS - 1];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static double *words, sums[THREADS][8];
static int one;

static void *in_steps(void *argument) {
    long me = (long)argument;
    for (int step = 0; step < STEPS; step++) {
        long part = (me + step) % THREADS;
        for (long i = part * WORDS / THREADS; i < (part + 1) * WORDS / THREADS; i++)
            words[i] += step + 1;
        if (step < STEPS - 1)
            pthread_barrier_wait(&barriers[one ? 0 : step]);
    }
    return NULL;
}

static void *under_lock(void *argument) {
    long me = (long)argument;
    for (int n = 0; n < READS; n++) {
        pthread_rwlock_rdlock(&lock);
        for (int i = 0; i < 4096; i++)
            sums[me][0] += words[i];
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    int locks = argc > 1 && !strcmp(argv[1], "rwlock");
    one = argc > 1 && !strcmp(argv[1], "one");
    words = calloc(WORDS, sizeof *words);
    for (int i = 0; i < STEPS - 1; i++)
        pthread_barrier_init(&barriers[i], NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, locks ? under_lock : in_steps, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (locks) {
        pthread_rwlock_wrlock(&lock);
        for (int i = 0; i < 4096; i++)
            words[i] += 1;
        pthread_rwlock_unlock(&lock);
    }
    printf("%g\n", words[0] + sums[0][0]);
    return 0;
}
