/* kit
class = "read-shared table, copies pay"
truth = "Eight threads look up at random in a table that main wrote and that fits no cache. Half of the look-ups are remote. A second table, built by a thread of the other node, makes them local and costs its building."
build = ["gcc", "-O1"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["table", "main"], made = "made", line = "made", remedy = ["copy"]}]
*/
#include "team.h"

enum { T = 8, N = 1 << 19, LOOKUPS = 60000 };
static int *table, *second;
static double *flush;
static volatile long sink[T * 16];

static int *built(void) {
    int *t = aligned_alloc(4096, N * sizeof *t);  // made
    for (long i = 0; i < N; i++) t[i] = i * 31;
    return t;
}

static void body(int id) {
    const int *mine = table;
#ifdef FIXED
    if (id == T / 2) second = built();
    meet();
    if (id >= T / 2) mine = second;
#endif
    uint64_t x = id + 1;
    long s = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        s += mine[(x >> 33) % N];  // hot
    }
    sink[id * 16] = s;
}

int main(void) {
    table = built();  // made
    flush = aligned_alloc(4096, 1 << 19);
    for (int i = 0; i < (1 << 19) / 8; i += 8) flush[i] = i;
    team(T);
    printf("%ld\n", sink[0]);
}
