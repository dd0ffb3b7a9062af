/* kit
class = "false sharing of writers"
truth = "Twelve std::atomic counters side by side, one thread each: atomic, but nobody reads another's before the end."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = "progress", line = "hot", remedy = ["pad"]}]
*/
#include <atomic>
#include <cstdio>
#include "team.hpp"

#ifdef FIXED
struct alignas(64) Progress { std::atomic<long> n; };
#else
struct Progress { std::atomic<long> n; };
#endif
alignas(64) static Progress progress[12];

int main() {
    together(12, [](int t) {
        for (int i = 0; i < 20000; i++)
            progress[t].n.fetch_add(i & 3, std::memory_order_relaxed);  // hot
    });
    long sum = 0;
    for (auto &p : progress) sum += p.n;
    std::printf("%ld\n", sum);
}
