/* kit
class = "false sharing of a writer with readers"
truth = "Two threads fight over the counter of a limit, which stays as it is; but it stands in the line of the settings that six others read under a sequence lock: a line of its own for the counter saves their misses."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = "state", line = "hot", remedy = ["split"]}]
*/
#include <stdatomic.h>

#include "team.h"

enum { READERS = 6, WRITERS = 2, ROUNDS = 20000, LIMIT = 1000000 };
static struct {
    _Alignas(64) _Atomic unsigned seq;
    long settings[6];
#ifdef FIXED
    _Alignas(64)
#endif
    _Atomic long requests;
} state;
static long sums[READERS + WRITERS][16];

static void body(int id) {
    for (int i = 0; i < ROUNDS; i++) {
        if (id >= READERS) {
            if (atomic_load(&state.requests) < LIMIT)  // hot
                atomic_fetch_add(&state.requests, 1);  // hot
            continue;
        }
        unsigned before;
        do {
            before = atomic_load(&state.seq);
            sums[id][0] += state.settings[i % 6];  // hot
        } while (before != atomic_load(&state.seq));
    }
}

int main(void) {
    for (int i = 0; i < 6; i++) state.settings[i] = i;
    team(READERS + WRITERS);
    printf("%ld %ld\n", sums[0][0], (long)state.requests);
}
