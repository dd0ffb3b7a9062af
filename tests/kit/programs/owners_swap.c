/* kit
class = "phases whose owners change"
truth = "In the second of two phases the parts are dealt the other way round: thread t has the part that thread 7 - t had. Keeping the parts cures it."
build = ["gcc", "-O1"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["state", "main"], made = "made", line = "hot", remedy = ["partition", "move"]}]
*/
#include "team.h"

enum { T = 8, N = 200000 };
static double *state;

static void phase(int part, int steps) {
    for (int step = 0; step < steps; step++) {
        for (long i = (long)part * N / T; i < (long)(part + 1) * N / T; i++)
            state[i] = state[i] * 0.75 + step;  // hot
        meet();
    }
}

static void body(int id) {
    phase(id, 4);
#ifdef FIXED
    phase(id, 4);
#else
    phase(T - 1 - id, 4);  // hot
#endif
}

int main(void) {
    state = calloc(N, sizeof *state);  // made
    team(T);
    printf("%f\n", state[3]);
}
