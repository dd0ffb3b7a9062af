/* kit
class = "heap neighbours"
truth = "Main allocates a counter of 16 bytes for each thread in a row: malloc puts two into a line (blocks of 32 bytes)."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["tally", "main", "counter"], made = "made", line = "hot", remedy = ["pad", "align"]}]
*/
#include "team.h"

enum { T = 8 };
struct counter { volatile long hits, misses; };
static struct counter *tally[T];

static void body(int id) {
    struct counter *mine = tally[id];
    for (int i = 0; i < 20000; i++) {
        if (i % 3) mine->hits++;  // hot
        else mine->misses++;      // hot
    }
}

int main(void) {
    for (int i = 0; i < T; i++) {
#ifdef FIXED
        tally[i] = aligned_alloc(64, 64);
        memset(tally[i], 0, 64);
#else
        tally[i] = calloc(1, sizeof *tally[i]);  // made
#endif
    }
    team(T);
    printf("%ld\n", tally[0]->hits);
}
