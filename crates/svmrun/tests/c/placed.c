/* Ways of sharing memory whose cost is known: two threads, each with what it writes where the way says.
 *
 *   placed mixed|apart|remote|locked|ordered|fours|sparse|stepped|alone
 *
 * ordered, fours, sparse, stepped: thread 0 writes all pages, and thread 1 reads them in order; or the first four of eight; or every other one; or all,
 * with a barrier behind each. */
#include "homenode.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGES 64
#define WORDS 512
#define ROUNDS 40

static uint64_t (*pages)[WORDS];
static const char *way;
static int barrier;

static int is(const char *name) {
    return !strcmp(way, name);
}

static void spin(unsigned turns) {
    for (volatile unsigned i = 0; i < turns; i++)
        ;
}

/* Thread 1 reads what thread 0 writes. */
static void read_all(unsigned me) {
    unsigned step = is("sparse") ? 2 : 1;
    volatile uint64_t sum = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned p = 0; me == 0 && p < PAGES; p++)
            pages[p][round]++;
        homenode_barrier(&barrier, 2);
        for (unsigned p = 0; p < PAGES; p += step) {
            if (me == 1 && !(is("fours") && p % 8 > 3))
                sum += pages[p][round];
            if (is("stepped"))
                homenode_barrier(&barrier, 2);
        }
        homenode_barrier(&barrier, 2);
    }
}

static void work(unsigned me) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned p = 0; p < PAGES; p++) {
            /* Words of all pages, or twice as many of every other page. */
            if (is("mixed"))
                for (unsigned w = me; w < WORDS; w += 64)
                    pages[p][w]++;
            else if (is("apart") && p % 2 == me)
                for (unsigned w = 0; w < WORDS; w += 32)
                    pages[p][w]++;
            else if (is("remote") && me == 1)
                pages[p][round % WORDS]++;
        }
        homenode_barrier(&barrier, 2);
        /* Only this way somebody else reads what was written: a home's copy is not fetched. */
        if (is("remote") && me == 0)
            for (unsigned p = 0; p < PAGES; p++)
                pages[p][WORDS - 1] += 0 * pages[p][0];
        if (is("remote"))
            homenode_barrier(&barrier, 2);
    }
}

static void body(void *unused) {
    unsigned me = homenode_thread();
    (void)unused;
    HOMENODE_PHASE_BEGIN("touch");
    for (unsigned p = 0; p < PAGES; p++)
        if (is("apart") ? p % 2 == me : me == 0)
            pages[p][0] = 1;
    homenode_barrier(&barrier, 2);
    HOMENODE_PHASE_END("touch");
    HOMENODE_PHASE_BEGIN("work");
    if (is("locked"))
        for (unsigned i = 0; i < 1000; i++) {
            homenode_lock(pages);
            pages[0][0]++;
            homenode_unlock(pages);
        }
    else if (is("ordered") || is("fours") || is("sparse") || is("stepped"))
        read_all(me);
    else if (is("alone"))
        spin(200 * 1000 * 1000);
    else
        work(me);
    HOMENODE_PHASE_END("work");
}

int main(int argc, char **argv) {
    if (argc != 2 || !homenode_svm_threads)
        return 2;
    way = argv[1];
    pages = homenode_shared_alloc(PAGES * sizeof *pages);
    homenode_create(body, NULL);
    body(NULL);
    homenode_join();
    return 0;
}
