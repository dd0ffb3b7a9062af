/* Threads that are cancelled between any two instructions, the runtime's included; what they did is counted outside of the
 * recording, and their destructors make references too. Prints the begin of each thread's memory and how often it wrote. */
#include "expect.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 20
#define WORDS 4096

static unsigned long data[THREADS][WORDS], last[THREADS];
static volatile unsigned long done[THREADS];
static pthread_key_t key;

NOINLINE static void put(unsigned long *at, unsigned long value) {
    *at = value;
}

UNRECORDED static void *work(void *number) {
    unsigned long i = (unsigned long)number;
    pthread_setspecific(key, (void *)(i + 1));
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        put(&data[i][done[i] % WORDS], done[i]);
        done[i]++;
    }
    return NULL;
}

static void destroy(void *number) {
    put(&last[(unsigned long)number - 1], 1);
}

UNRECORDED int main(void) {
    pthread_t thread[THREADS];
    pthread_key_create(&key, destroy);
    for (unsigned long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    usleep(3000);
    for (int i = 0; i < THREADS; i++)
        pthread_cancel(thread[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        printf("%#lx %lu %#lx\n", (unsigned long)data[i], done[i], (unsigned long)&last[i]);
    return 0;
}
