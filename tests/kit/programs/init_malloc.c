/* kit
class = "initialised by main"
truth = "Main fills an array that two threads, one on each node, then use half and half, three times over."
build = ["gcc", "-O1"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["field", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include "team.h"

enum { T = 2, N = 200000 };
static double *field;
static volatile double sums[T * 16];

static void fill(long from, long to) {
    for (long i = from; i < to; i++)
        field[i] = 1.0 / (i + 1);  // fill
}

static void body(int id) {
    long from = (long)id * N / T, to = (long)(id + 1) * N / T;
#ifdef FIXED
    fill(from, to);
#endif
    double s = 0;
    for (int r = 0; r < 3; r++) {
        meet();
        for (long i = from; i < to; i++) s += field[i] * r;
    }
    sums[id * 16] = s;
}

int main(void) {
    field = malloc(N * sizeof *field);  // made
#ifndef FIXED
    fill(0, N);  // fill
#endif
    team(T);
    printf("%f\n", sums[0]);
}
