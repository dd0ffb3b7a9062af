/* Eight threads look up at random in a table of 24 MiB that main wrote. HOW=1: a thread of the other node copies the table for
 * its node first, which costs more than it saves. HOW=2: it builds a table of its own, which pays. */
#include "team.h"

enum { T = 8, N = 6 << 20, JUNK = 14 << 20, LOOKUPS = 600000 };
static int *table, *own;
static double *junk;
static volatile long sink[T * 16];

static void body(int id) {
    const int *mine = table;
#if HOW
    if (id == T / 2) {
        own = aligned_alloc(4096, N * sizeof *own);
        for (long i = 0; i < N; i++) own[i] = HOW == 1 ? table[i] : i * 31;
    }
    meet();
    if (id >= T / 2) mine = own;
#endif
    uint64_t x = id + 1;
    long s = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        s += mine[(x >> 33) % N];
    }
    sink[id * 16] = s;
}

int main(void) {
    table = aligned_alloc(4096, N * sizeof *table);
    for (long i = 0; i < N; i++) table[i] = i * 31;
    /* So that no line of the table is dirty in main's cache when the threads begin. */
    junk = aligned_alloc(4096, JUNK);
    for (long i = 0; i < JUNK / 8; i += 8) junk[i] = i;
    team(T);
    return 0;
}
