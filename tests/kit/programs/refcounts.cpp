/* kit
class = "true sharing: reference counts"
truth = "Three threads copy and drop one shared_ptr: each copy writes the one count of the control block."
build = ["gcc", "-O1"]
turns = true
shared = [{object = ["main"], made = "made", line = "hot"}]
*/
#include <cstdio>
#include <memory>
#include "team.hpp"

struct Config { int size[32]; };

int main() {
    auto config = std::make_shared<Config>();  // made
    together(3, [&](int) {
        for (int i = 0; i < 12000; i++) {
            std::shared_ptr<Config> mine = config;  // hot
        }                                           // hot
    });
    std::printf("%ld\n", config.use_count());
}
