/* kit
class = "two bugs"
truth = "Main fills what eight threads use, and the threads' counters share two lines. Much of what main fills is still dirty in its cache when the threads come, and counts."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
required = true
bugs = [
    {object = ["a", "main"], made = "made", line = "fill", remedy = ["initialise"]},
    {object = "counters", line = "hot", remedy = ["pad"]},
]
*/
#include "team.h"

enum { T = 8, N = 300000 };
struct cell { double value, rest[7]; };
static struct cell *a;
#ifdef FIXED
static struct { _Alignas(64) volatile long n; } counters[T];
#else
static struct { volatile long n; } counters[T] __attribute__((aligned(64)));
#endif

static void fill(long from, long to) {
    for (long i = from; i < to; i++)
        a[i].value = i;  // fill
}

static void body(int id) {
    long from = (long)id * N / T, to = (long)(id + 1) * N / T;
#ifdef FIXED
    fill(from, to);
#endif
    meet();
    for (int r = 0; r < 2; r++) {
        for (long i = from; i < to; i++) {
            if (a[i].value > .5) a[i].value *= .5;
            if (i % 2 == 0)
                counters[id].n++;  // hot
        }
        meet();
    }
}

int main(void) {
    a = aligned_alloc(4096, N * sizeof *a);  // made
#ifndef FIXED
    fill(0, N);  // fill
#endif
    team(T);
}
