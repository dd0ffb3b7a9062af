/* Threads that may be cancelled at any instruction, in the middle of a store's recording too: natively it always ends with
 * status 0. Prints how many of them wrote. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { QUIET = 100, CANCELLED = 20, WORDS = 64 };
static volatile long words[QUIET + CANCELLED][WORDS];
static pthread_key_t key;
static pthread_barrier_t barrier;

static void touch(int slot, int times) {
    for (int i = 0; i < times; i++) words[slot][i % WORDS] += 1;
}

static void at_end(void *p) { touch((int)(intptr_t)p - 1, 10); }

static void *quiet(void *p) {
    pthread_setspecific(key, p);
    pthread_barrier_wait(&barrier);
    touch((int)(intptr_t)p - 1, 200);
    return NULL;
}

static void *forever(void *p) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) touch((int)(intptr_t)p - 1, 1);
}

int main(void) {
    pthread_t thread[QUIET];
    pthread_attr_t small;
    int wrote = 0;
    pthread_key_create(&key, at_end);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&barrier, NULL, QUIET);
    for (intptr_t i = 0; i < QUIET; i++)
        if (pthread_create(&thread[i], &small, quiet, (void *)(i + 1))) return 1;
    for (int i = 0; i < QUIET; i++) pthread_join(thread[i], NULL);
    for (intptr_t i = 0; i < CANCELLED; i++)
        if (pthread_create(&thread[i], NULL, forever, (void *)(QUIET + i + 1))) return 1;
    usleep(3000);
    for (int i = 0; i < CANCELLED; i++) pthread_cancel(thread[i]);
    for (int i = 0; i < CANCELLED; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < QUIET + CANCELLED; i++) wrote += words[i][0] != 0;
    printf("%d\n", wrote);
    return 0;
}
