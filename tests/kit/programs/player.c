/* Plays references from a file: the number of threads; for each the number of its lines, and the lines: `r` or `w`, address and
 * size, or `b 0 0` for a barrier. The addresses are never touched, only recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>

void __tsan_read_range(void *, unsigned long);
void __tsan_write_range(void *, unsigned long);
void __tsan_read4(void *);
void __tsan_write4(void *);

#define UNSEEN __attribute__((no_sanitize("thread")))
struct row { char what; unsigned long address; int size; };
static struct row *rows[64];
static int count[64];
static pthread_barrier_t barrier;

UNSEEN static void play(struct row r) {
    void *address = (void *)r.address;
    if (r.what == 'b') pthread_barrier_wait(&barrier);
    else if (r.what == 'w' && r.size == 4) __tsan_write4(address);
    else if (r.what == 'w') __tsan_write_range(address, r.size);
    else if (r.size == 4) __tsan_read4(address);
    else __tsan_read_range(address, r.size);
}

UNSEEN static void *play_all(void *p) {
    long id = (long)p;
    for (int i = 0; i < count[id]; i++) play(rows[id][i]);
    return NULL;
}

UNSEEN int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    int threads;
    if (!file || fscanf(file, "%d", &threads) != 1 || threads < 1 || threads > 64) return 2;
    for (int t = 0; t < threads; t++) {
        if (fscanf(file, "%d", &count[t]) != 1) return 2;
        rows[t] = calloc(count[t] + 1, sizeof *rows[t]);
        for (int i = 0; i < count[t]; i++)
            if (fscanf(file, " %c %lu %d", &rows[t][i].what, &rows[t][i].address, &rows[t][i].size) != 3) return 2;
    }
    pthread_t thread[64];
    pthread_barrier_init(&barrier, NULL, threads);
    for (long t = 0; t < threads; t++) pthread_create(&thread[t], NULL, play_all, (void *)t);
    for (int t = 0; t < threads; t++) pthread_join(thread[t], NULL);
}
