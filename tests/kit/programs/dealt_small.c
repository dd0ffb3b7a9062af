/* kit
class = "dealt element-wise"
truth = "Element i belongs to thread i mod 3 in an array of 480 ints: all 30 lines have words of all three. Blocks end at the ends of lines."
build = ["gcc", "-O0"]
repaired = ["-DFIXED"]
bugs = [{object = "weights", line = "hot", remedy = ["blocks"]}]
*/
#include "team.h"

enum { T = 3, N = 480 };
static volatile int weights[N] __attribute__((aligned(64)));

static void body(int id) {
    for (int round = 0; round < 150; round++) {
#ifdef FIXED
        for (int i = id * N / T; i < (id + 1) * N / T; i++)
#else
        for (int i = id; i < N; i += T)
#endif
            weights[i] += i + round;  // hot
        meet();
    }
}

int main(void) {
    team(T);
    printf("%d\n", weights[N - 1]);
}
