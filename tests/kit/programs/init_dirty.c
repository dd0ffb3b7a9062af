/* kit
class = "initialised by main, lines dirty in its cache"
truth = "The array fits main's node's cache and is still dirty there when eight threads read their parts once: each line is transferred, half of them across. Filled by its user it never leaves that cache."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["queue", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include "team.h"

enum { T = 8, N = 60000 };
struct item { long key, rest[7]; };
static struct item *queue;
static volatile long found[T * 16];

static void fill(int from, int to) {
    for (int i = from; i < to; i++)
        queue[i].key = i * 7;  // fill
}

static void body(int id) {
    int from = id * (N / T), to = (id + 1) * (N / T);
    long n = 0;
#ifdef FIXED
    fill(from, to);
#endif
    meet();
    for (int i = from; i < to; i++) n += queue[i].key % 3 == 0;
    found[id * 16] = n;
}

int main(void) {
    queue = aligned_alloc(4096, N * sizeof *queue);  // made
#ifndef FIXED
    fill(0, N);  // fill
#endif
    team(T);
    printf("%ld\n", found[0]);
}
