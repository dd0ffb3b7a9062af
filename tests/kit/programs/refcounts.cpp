/* kit
class = "true sharing: reference counts"
truth = "Three threads copy and drop one shared_ptr: each copy writes the one count of the control block."
build = ["gcc", "-O1"]
shared = [{object = ["main"], made = "made", line = "hot"}]
*/
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

struct Config { int size[32]; };

int main() {
    auto config = std::make_shared<Config>();  // made
    std::vector<std::thread> team;
    for (int t = 0; t < 3; t++)
        team.emplace_back([&config] {
            for (int i = 0; i < 12000; i++) {
                std::shared_ptr<Config> mine = config;  // hot
            }                                           // hot
        });
    for (auto &t : team) t.join();
    std::printf("%ld\n", config.use_count());
}
