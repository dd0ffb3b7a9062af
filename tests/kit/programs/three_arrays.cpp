/* kit
class = "initialised by main: objects of three allocators"
truth = "operator new, new double[n] and malloc, all filled by main in one loop and used in parts by eight threads: three objects of three lines, one repair each."
build = ["gcc", "-O2"]
machine = "small.toml"
repaired = ["-DFIXED"]
required = true
bugs = [
    {object = ["a"], made = "first", line = "fill", remedy = ["initialise"]},
    {object = ["b"], made = "second", line = "fill", remedy = ["initialise"]},
    {object = ["c"], made = "third", line = "fill", remedy = ["initialise"]},
]
*/
#include <cstdio>
#include <cstdlib>
#include "team.hpp"

int main() {
    const long n = 160000;
    const int threads = 8;
    double *a = static_cast<double *>(::operator new(n * 8));  // first
    double *b = new double[n];                                 // second
    double *c = (double *)malloc(n * 8);                       // third
    auto fill = [=](long from, long to) {
        for (long i = from; i < to; i++)
            a[i] = b[i] = c[i] = i;  // fill
    };
#ifndef FIXED
    fill(0, n);  // fill
#endif
    double out[64];
    together(threads, [&](int t) {
        const long from = n * t / threads, to = n * (t + 1) / threads;
#ifdef FIXED
        fill(from, to);
#endif
        double s = 0;
        for (int r = 0; r < 3; r++)
            for (long i = from; i < to; i++) s += a[i] * b[i] + c[i];
        out[t * 8] = s;
    });
    std::printf("%f\n", out[0]);
}
