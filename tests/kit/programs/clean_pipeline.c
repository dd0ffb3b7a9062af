/* kit
class = "clean"
truth = "Two threads of one node work on what they allocate; one buffer of 64 lines is handed over once, when it is full."
build = ["clang", "-O1"]
machine = "small.toml"
*/
#include "team.h"

enum { N = 150000 };
static double *parcel;

static void body(int id) {
    double *mine = malloc(N * sizeof *mine), s = 0;
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < N; i++) mine[i] = r ? mine[i] + r : i;
    if (id == 0) {
        parcel = aligned_alloc(64, 4096);
        for (int i = 0; i < 512; i++) parcel[i] = mine[i];
    }
    meet();
    if (id == 1) for (int i = 0; i < 512; i++) s += parcel[i];
    if (s < 0) puts("no");
    free(mine);
}

int main(void) {
    team(2);
}
