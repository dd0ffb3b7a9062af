/* Two phases, in one of which a second thread works too; a known number of references in each. */
#include "expect.h"

#include <pthread.h>

static uint32_t cells[64];
static pthread_barrier_t barrier;

static NOINLINE void sequence(uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        cells[i % 64] = i;
        FENCE();
    }
}

static void *work(void *unused) {
    sequence(1000);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    sequence(100);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    sequence(10);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, work, NULL);
    sequence(2000);
    pthread_barrier_wait(&barrier);
    homenode_phase_begin("other");
    homenode_phase_begin("inner");
    pthread_barrier_wait(&barrier);
    sequence(200);
    pthread_barrier_wait(&barrier);
    homenode_phase_end("inner");
    homenode_phase_end("other");
    pthread_barrier_wait(&barrier);
    sequence(20);
    pthread_join(thread, NULL);
    printf("%#lx\n", (unsigned long)cells);
    return 0;
}
