/* kit
class = "clean"
truth = "Each thread fills and reads vectors of its own; the shared vector of results is written once by each at its end."
build = ["gcc", "-O2"]
machine = "small.toml"
*/
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

int main() {
    const int threads = 5;
    std::vector<double> result(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            std::vector<double> mine(40000, t + 1.0);
            double s = 0;
            for (int r = 0; r < 4; r++) s += std::accumulate(mine.begin(), mine.end(), 0.0);
            result[t] = s;
        });
    for (auto &t : team) t.join();
    std::printf("%f\n", result[0]);
}
