/* kit
class = "initialised by the wrong partition: rotated"
truth = "Initialised in parallel, but thread i fills the part of thread i + 4: every part lies on a wrong node. Each filling its own cures it."
build = ["gcc", "-O1"]
machine = "opteron4"
repaired = ["-DFIXED"]
required = true
bugs = [{object = ["all", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include "team.h"

enum { T = 8, N = 64 << 10 };
static double *all;

static void body(int id) {
    double *const a = all;
#ifdef FIXED
    int mine = id;
#else
    int mine = (id + T / 2) % T;
#endif
    for (int i = mine * N / T; i < (mine + 1) * N / T; i++)
        a[i] = i;  // fill
    meet();
    for (int r = 0; r < 4; r++) {
        for (int i = id * N / T + 1; i < (id + 1) * N / T; i++) a[i] = a[i] * .5 + a[i - 1];
        meet();
    }
}

int main(void) {
    all = aligned_alloc(4096, N * sizeof *all);  // made
    team(T);
}
