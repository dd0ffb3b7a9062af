/* kit
class = "false sharing of a writer with readers"
truth = "A thread publishes a version number; eleven others read a threshold beside it that never changes."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = "settings", line = "hot", remedy = ["split", "pad"]}]
*/
#include <atomic>
#include <cstdio>
#include "team.hpp"

struct alignas(64) Settings {
    std::atomic<long> threshold{100};
#ifdef FIXED
    alignas(64)
#endif
    std::atomic<long> version{0};
};
Settings settings;
struct alignas(64) Slot { long over, seed; };
static Slot slots[12];

int main() {
    together(12, [](int t) {
        Slot &mine = slots[t];
        for (int i = 0; i < 12000; i++) {
            if (t == 0) {
                settings.version.store(i, std::memory_order_relaxed);  // hot
            } else {
                mine.seed = mine.seed * 1103515245 + 12345;
                mine.over += mine.seed % 200 > settings.threshold.load(std::memory_order_relaxed);  // hot
            }
        }
    });
    std::printf("%ld\n", slots[1].over);
}
