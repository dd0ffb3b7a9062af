/* kit
class = "thread generations without a gate"
truth = "Each of five rounds starts four threads anew, which count in elements of 24 bytes of one vector."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["stats", "main"], made = "made", line = "hot", remedy = ["pad", "align"]}]
*/
#include <cstdio>
#include <thread>
#include <vector>

#ifdef FIXED
struct alignas(64) Stats { long hits = 0, misses = 0, bytes = 0; };
#else
struct Stats { long hits = 0, misses = 0, bytes = 0; };
#endif

static void work(Stats *s, int id) {
    for (int i = 0; i < 30000; i++) {
        if ((i * 31 + id) % 3) *(volatile long *)&s->hits += 1;  // hot
        else *(volatile long *)&s->misses += 1;                  // hot
    }
}

int main() {
    std::vector<Stats> stats(4);  // made
    for (int round = 0; round < 5; round++) {
        std::vector<std::thread> team;
        for (int id = 0; id < 4; id++) team.emplace_back(work, &stats[id], id);
        for (auto &t : team) t.join();
    }
    std::printf("%ld\n", stats[0].hits);
}
