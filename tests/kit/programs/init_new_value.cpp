/* kit
class = "initialised by main: new T[n]()"
truth = "The parentheses zero the array in main; five threads then fill and use their own parts. The twin leaves the zeroing of each part to its user."
build = ["gcc", "-O2"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["main", "energy"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include <cstdio>
#include "team.hpp"

int main() {
    const int threads = 5;
    const long n = 240000;
#ifdef FIXED
    double *energy = new double[n];
#else
    double *energy = new double[n]();  // made, fill
#endif
    together(threads, [=](int t) {
#ifdef FIXED
        for (long i = n * t / threads; i < n * (t + 1) / threads; i++) energy[i] = 0;
#endif
        for (int step = 0; step < 4; step++)
            for (long i = n * t / threads; i < n * (t + 1) / threads; i++)
                energy[i] = energy[i] * 0.5 + i;
    });
    std::printf("%f\n", energy[n / 2]);
}
