/* kit
class = "initialised by main: vector(n)"
truth = "A vector of rows, each zeroed by its constructor in main; eight threads own the rows in blocks. Each thread making its own rows cures it."
build = ["gcc", "-O2"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["main"], made = "made", line = "made", remedy = ["initialise"]}]
*/
#include <cstdio>
#include <thread>
#include <vector>

using Row = std::vector<double>;

int main() {
    const int threads = 8, rows = 128, columns = 2048;
    std::vector<Row> m(rows);
    auto in_parallel = [&](auto f) {
        std::vector<std::thread> team;
        for (int t = 0; t < threads; t++) team.emplace_back([&, t] {
            for (int r = rows * t / threads; r < rows * (t + 1) / threads; r++) f(m[r], r);
        });
        for (auto &t : team) t.join();
    };
#ifdef FIXED
    in_parallel([&](Row &row, int) { row = Row(columns); });
#else
    for (auto &row : m)
        row = Row(columns);  // made
#endif
    for (int step = 0; step < 4; step++)
        in_parallel([&](Row &row, int r) { for (auto &x : row) x += r; });
    std::printf("%f\n", m[7][7]);
}
