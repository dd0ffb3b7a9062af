/* kit
class = "false sharing of writers, thread generations"
truth = "Threads made anew for each of four steps add to a double each, eight in a line. Summing in a local variable and storing once ends it."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["sum", "main"], made = "made", line = "hot", remedy = ["pad", "private"]}]
*/
#include <cstdio>
#include <cstdlib>
#include "team.hpp"

int main() {
    const int threads = 8, n = 15000;
    volatile double *sum = static_cast<double *>(std::aligned_alloc(64, 64 * threads));  // made
    for (int step = 0; step < 4; step++) {
        together(threads, [&](int t) {
#ifdef FIXED
            const int slot = t * 8;
#else
            const int slot = t;
#endif
            for (int i = 0; i < n; i++)
                sum[slot] = sum[slot] + i * 0.5;  // hot
        });
    }
    std::printf("%f\n", sum[0]);
}
