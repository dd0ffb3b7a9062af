/* kit
class = "true sharing: a loop of compare-and-swap"
truth = "Five threads add doubles to one atomic double by compare-and-swap."
build = ["clang", "-O2"]
turns = true
shared = [{object = "total", line = "hot"}]
*/
#include <atomic>
#include <cstdio>
#include "team.hpp"

alignas(64) static std::atomic<double> total;

int main() {
    together(5, [](int id) {
        for (int i = 0; i < 5000; i++) {
            double old = total.load();                                    // hot
            while (!total.compare_exchange_weak(old, old + id + i)) {}    // hot
        }
    });
    std::printf("%f\n", total.load());
}
