/* A loop that counts reads a volatile which nobody writes; another thread writes a counter beside it. No wait: false sharing. */
#include <pthread.h>
#include <stdio.h>

enum { N = 100000 };
static struct {
    volatile int limit;
    volatile long counter;
} shared __attribute__((aligned(64))) = {3, 0};
static pthread_barrier_t both;

static void *writer(void *unused) {
    pthread_barrier_wait(&both);
    for (int i = 0; i < N; i++) shared.counter++;  // written
    return unused;
}

int main(void) {
    pthread_t t;
    long x = 0;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&t, NULL, writer, NULL);
    pthread_barrier_wait(&both);
    for (int i = 0; i < N; i++) x += shared.limit;  // read
    pthread_join(t, NULL);
    printf("%ld\n", x);
    return 0;
}
