/* Data that thread 0 fills in, and of which each thread then changes its own part: by first touch all of it lives with thread 0.
 *
 *   homes THREADS PAGES ROUNDS filled|own|late
 *
 * own: each thread fills its part in itself. late: thread 1 takes the memory, when all threads are there, and nobody fills it in. */
#include "hn_workload.h"
#include "homenode.h"

#define WORDS (HN_PAGE_BYTES / sizeof(uint64_t))

static size_t pages, rounds;
static char way[8]; /* no pointer: on other hosts nodes have no arguments */
static hn_barrier barrier;
static uint64_t *data;   /* but for late */
static uint64_t **place; /* shared: where the memory is that thread 1 took */

static void fill(uint64_t *part) {
    for (size_t w = 0; w < pages * WORDS; w++)
        part[w] = w;
}

static void work(unsigned thread, unsigned threads, void *unused) {
    uint64_t *all = data;
    bool late = !strcmp(way, "late");
    (void)unused;
    if (late && thread == 1)
        *place = hn_shared_alloc("late", threads * pages * HN_PAGE_BYTES); /* taken late */
    hn_barrier_wait(&barrier);
    if (late)
        all = *place;
    uint64_t *part = all + thread * pages * WORDS;
    if (!strcmp(way, "own"))
        fill(part);
    for (size_t round = 0; round < rounds; round++) {
        for (size_t w = 0; w < pages * WORDS; w++)
            part[w] += thread + 1;
        hn_barrier_wait(&barrier);
    }
    for (size_t w = 0; w < pages * WORDS; w++)
        if (part[w] != (late ? 0 : w) + rounds * (thread + 1)) {
            fprintf(stderr, "thread %u, word %zu: %" PRIu64 "\n", thread, w, part[w]);
            exit(1);
        }
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    unsigned threads = (unsigned)atoi(argv[1]);
    pages = (size_t)atoi(argv[2]);
    rounds = (size_t)atoi(argv[3]);
    snprintf(way, sizeof way, "%s", argv[4]);
    if (!strcmp(way, "late"))
        place = hn_shared_alloc("place", sizeof *place);
    else
        data = hn_shared_alloc("data", threads * pages * HN_PAGE_BYTES); /* taken */
    hn_barrier_init(&barrier, threads);
    if (!strcmp(way, "filled"))
        for (unsigned t = 0; t < threads; t++)
            fill(data + t * pages * WORDS);
    hn_run(threads, work, NULL);
    return 0;
}
