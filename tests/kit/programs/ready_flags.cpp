/* kit
class = "false sharing of 1-byte data"
truth = "Eight std::atomic<bool>, one a thread, in eight bytes; each thread sets and clears its own while it works."
build = ["clang", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["busy", "main", "Team"], made = "made", line = "hot", remedy = ["pad", "align"]}]
*/
#include <atomic>
#include <cstdio>
#include <new>
#include "team.hpp"

#ifdef FIXED
struct alignas(64) Flag { std::atomic<bool> on; };
#else
struct Flag { std::atomic<bool> on; };
#endif
struct Team { alignas(64) Flag busy[8]; };

int main() {
    Team *crew = new Team();  // made
    together(8, [&](int t) {
        unsigned seed = t;
        for (int i = 0; i < 8000; i++) {
            crew->busy[t].on.store(true, std::memory_order_release);  // hot
            seed = seed * 1664525 + 1013904223;
            crew->busy[t].on.store(false, std::memory_order_release);  // hot
        }
    });
    std::printf("%d\n", crew->busy[3].on.load());
    delete crew;
}
