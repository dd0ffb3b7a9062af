/* kit
class = "true sharing: contended cells"
truth = "Eight threads add at random to 64 bins: every bin has eight writers. Padding the bins would leave as many transfers."
build = ["clang", "-O2"]
shared = [{object = "bins", line = "hot"}]
*/
#include <stdatomic.h>
#include "team.h"

enum { T = 8, BINS = 64 };
static _Atomic int bins[BINS] __attribute__((aligned(64)));

static void body(int id) {
    uint32_t x = id + 1;
    for (int i = 0; i < 15000; i++) {
        x = x * 1664525u + 1013904223u;
        atomic_fetch_add_explicit(&bins[x >> 26], 1, memory_order_relaxed);  // hot
    }
}

int main(void) {
    team(T);
    printf("%d\n", bins[0]);
}
