/* kit
class = "initialised by the wrong partition: rotated"
truth = "A first generation of threads fills the parts in reverse order, the second uses them in order: every part was touched first on the other node."
build = ["clang", "-O2"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["main", "mass"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include <cstdio>
#include <cstdlib>
#include "team.hpp"

int main() {
    const int threads = 12;
    const long n = 250000;
    double *mass = static_cast<double *>(std::malloc(n * sizeof(double)));  // made
    together(threads, [=](int t) {
#ifdef FIXED
        int part = t;
#else
        int part = threads - 1 - t;
#endif
        for (long i = n * part / threads; i < n * (part + 1) / threads; i++)
            mass[i] = i;  // fill
    });
    for (int step = 0; step < 3; step++)
        together(threads, [=](int t) { for (long i = n * t / threads; i < n * (t + 1) / threads; i++) mass[i] *= 1.5; });
    std::printf("%f\n", mass[1]);
}
