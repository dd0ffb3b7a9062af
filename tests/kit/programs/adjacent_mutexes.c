/* kit
class = "adjacent locks: pthread_mutex_t"
truth = "Four mutexes of 40 bytes in 160, each used by one thread alone: their lines are fought over though no lock is ever contended. The counters have lines of their own."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
required = true
bugs = [{object = ["locks", "locks.mutex"], line = "hot", remedy = ["pad"]}]
*/
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static struct {
    pthread_mutex_t mutex;
#ifdef FIXED
    char rest[128 - sizeof(pthread_mutex_t)];
#endif
} locks[4] __attribute__((aligned(64))) = {
    {.mutex = PTHREAD_MUTEX_INITIALIZER}, {.mutex = PTHREAD_MUTEX_INITIALIZER}, {.mutex = PTHREAD_MUTEX_INITIALIZER},
    {.mutex = PTHREAD_MUTEX_INITIALIZER}};
static volatile long counters[4][16] __attribute__((aligned(64)));

static void *work(void *p) {
    intptr_t t = (intptr_t)p;
    for (int i = 0; i < 50000; i++) {
        pthread_mutex_lock(&locks[t].mutex);  // hot
        counters[t][0]++;
        pthread_mutex_unlock(&locks[t].mutex);  // hot
    }
    return NULL;
}

int main(void) {
    pthread_t thread[4];
    for (intptr_t t = 0; t < 4; t++) pthread_create(&thread[t], NULL, work, (void *)t);
    for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
    printf("%ld\n", counters[0][0]);
}
