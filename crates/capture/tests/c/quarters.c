/* Four threads, each with a quarter of a heap block, a mapping and static data of its own: `quarters SECONDS`. Prints
 * "TID FIRST BYTES" for each piece. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, THREADS = 4, PIECE = 200 * PAGE };
static unsigned char fixed[THREADS * PIECE] __attribute__((aligned(4096)));
static unsigned char *block[3];
static double seconds;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *work(void *argument) {
    long which = (long)argument, sum = 0;
    double end = now() + seconds;
    for (int i = 0; i < 3; i++)
        printf("%ld %p %d\n", (long)syscall(SYS_gettid), (void *)(block[i] + which * PIECE), PIECE);
    while (now() < end)
        for (int i = 0; i < 3; i++) {
            unsigned char *mine = block[i] + which * PIECE;
            for (int at = 0; at < PIECE; at += 64)
                sum += mine[at]++;
        }
    return (void *)sum;
}

int main(int argc, char **argv) {
    pthread_t t[THREADS];
    seconds = argc > 1 ? atof(argv[1]) : 1;
    void *heap = NULL;
    if (posix_memalign(&heap, PAGE, THREADS * PIECE) != 0)
        return 1;
    block[0] = heap;
    block[1] = mmap(NULL, THREADS * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    block[2] = fixed;
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, work, (void *)i) != 0)
            return 2;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    return 0;
}
