/* kit
class = "initialised by main"
truth = "A global array, filled by main and used in blocks by twelve std::threads."
build = ["clang", "-O2"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = "potential", line = "fill", remedy = ["initialise"]}]
*/
#include <cstdio>
#include "team.hpp"

enum { THREADS = 12, N = 12 * 20480 };
alignas(4096) static double potential[N];

static void fill(int from, int to) {
    for (int i = from; i < to; i++)
        potential[i] = i;  // fill
}

int main() {
#ifndef FIXED
    fill(0, N);  // fill
#endif
    together(THREADS, [](int t) {
        const int from = t * (N / THREADS), to = from + N / THREADS;
#ifdef FIXED
        fill(from, to);
#endif
        for (int r = 0; r < 3; r++)
            for (int i = from; i < to; i++) potential[i] = potential[i] * 0.9 + r;
    });
    std::printf("%f\n", potential[N - 1]);
}
