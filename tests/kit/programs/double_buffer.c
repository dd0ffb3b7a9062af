/* kit
class = "clean: handed on"
truth = "One thread fills a buffer while the others read the one filled before: data made by one for others, whatever the layout."
build = ["gcc", "-O1"]
*/
#include "team.h"

enum { T = 4, N = 8192 };
static double buffers[2][N] __attribute__((aligned(4096)));
static struct { _Alignas(64) volatile double sum; } result[T];

static void body(int id) {
    for (int step = 0; step < 12; step++) {
        if (id == 0) for (int i = 0; i < N; i++) buffers[step & 1][i] = i + step;
        else for (int i = id - 1; i < N; i += T - 1) result[id].sum += buffers[1 - (step & 1)][i];
        meet();
    }
}

int main(void) {
    team(T);
    printf("%f\n", result[1].sum);
}
