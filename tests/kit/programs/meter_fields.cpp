/* kit
class = "false sharing of writers: two fields"
truth = "Of two fields in one line each thread counts in one: what it pushed, and what it popped."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = "meter", line = "hot", remedy = ["pad", "align", "split"]}]
*/
#include <cstdio>
#include "team.hpp"

#ifdef FIXED
#define APART alignas(64)
#else
#define APART
#endif
struct Meter {
    APART volatile long pushed;
    APART volatile long popped;
};
alignas(64) static Meter meter;

int main() {
    together(2, [](int id) {
        for (int i = 0; i < 40000; i++) {
            if (id == 0) meter.pushed = meter.pushed + 1;  // hot
            else meter.popped = meter.popped + 1;          // hot
        }
    });
    std::printf("%ld\n", meter.pushed + meter.popped);
}
