/* Locks, barriers, faults and diffs on all nodes, for ever: for tests that kill.
 *
 *   churn FILE      FILE gets stderr of all */
#include "homenode.h"
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define PAGES 32
#define WORDS 512

static struct {
    uint64_t lock, barrier;
    uint64_t words[PAGES][WORDS];
} *s;
static unsigned threads;

static void churn(void *unused) {
    unsigned me = homenode_thread();
    (void)unused;
    for (unsigned round = 0;; round++) {
        for (unsigned p = 0; p < PAGES; p++)
            s->words[p][me] += s->words[(p + round) % PAGES][(me + 1) % threads];
        homenode_lock(&s->lock);
        s->words[round % PAGES][WORDS - 1]++;
        homenode_unlock(&s->lock);
        if (round % 8 == 0)
            homenode_barrier(&s->barrier, threads);
    }
}

int main(int argc, char **argv) {
    alarm(100); /* a test that waits for ever says nothing */
    if (argc != 2 || !freopen(argv[1], "w", stderr))
        return 78;
    threads = homenode_svm_threads();
    s = homenode_shared_alloc(sizeof *s);
    for (unsigned t = 1; t < threads; t++)
        homenode_create(churn, NULL);
    churn(NULL);
}
