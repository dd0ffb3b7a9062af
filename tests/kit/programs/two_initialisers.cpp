/* kit
class = "initialised by several wrong threads"
truth = "Two threads of the first node fill what eight threads of two nodes use: half of it is remote to its users. Each filling its own part cures it."
build = ["gcc", "-O2"]
machine = "small.toml"
repaired = ["-DFIXED"]
required = true
bugs = [{object = ["a", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Cell { double value, rest[7]; };

int main() {
    const long n = 40000;
    Cell *a = (Cell *)malloc(n * sizeof *a);  // made
    std::vector<double> out(64);
    std::atomic<int> arrived{0};
    std::vector<std::thread> team;
    for (int t = 0; t < 8; t++) team.emplace_back([&, t] {
#ifdef FIXED
        const int fillers = 8;
#else
        const int fillers = 2;
#endif
        if (t < fillers) for (long i = n * t / fillers; i < n * (t + 1) / fillers; i++)
            a[i].value = i;  // fill
        arrived++;
        while (arrived < 8) std::this_thread::yield();
        double s = 0;
        for (int r = 0; r < 4; r++) for (long i = n * t / 8; i < n * (t + 1) / 8; i++) s += a[i].value;
        out[t * 8] = s;
    });
    for (auto &t : team) t.join();
    printf("%f\n", out[0]);
}
