/* kit
class = "dealt element-wise, above 2,000 lines"
truth = "Thread t has the elements i with i mod 4 = t: every line has words of all four. One contiguous block a thread has none but at its borders."
build = ["gcc", "-O1"]
args = ["2500", "8"]
repaired = ["-DFIXED"]
required = true
bugs = [{object = ["a", "dealt"], made = "made", line = "hot", remedy = ["blocks", "pad"]}]
*/
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };
static int n, rounds;
static volatile int *a;
static pthread_barrier_t barrier;

static void *work(void *p) {
    intptr_t t = (intptr_t)p;
    for (int r = 0; r < rounds; r++) {
#ifdef FIXED
        for (int i = t * n / THREADS; i < (t + 1) * n / THREADS; i++) a[i] += 1;
#else
        for (int i = t; i < n; i += THREADS)
            a[i] += 1;  // hot
#endif
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    n = atoi(argv[1]) * 16;
    rounds = atoi(argv[2]);
    a = aligned_alloc(64, n * sizeof *a);  // made
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t thread[THREADS];
    for (intptr_t t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    printf("%d\n", a[n - 1]);
}
