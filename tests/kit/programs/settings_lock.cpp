/* kit
class = "true sharing: readers of one shared_mutex"
truth = "Six threads look up settings under a shared lock; each look-up writes the lock's one word twice, and one of them sometimes changes a setting."
build = ["gcc", "-O1"]
turns = true
shared = [{object = "guard", line = "hot"}]
*/
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include "team.hpp"

alignas(64) static std::shared_mutex guard;
alignas(64) static int settings[64];

int main() {
    together(6, [](int id) {
        long sum = 0;
        for (int i = 0; i < 3000; i++) {
            if (id == 0 && i % 100 == 0) {
                std::unique_lock<std::shared_mutex> lock(guard);  // hot
                settings[i % 64]++;
            } else {
                std::shared_lock<std::shared_mutex> lock(guard);  // hot
                sum += settings[(i + id) % 64];
            }
        }
        if (sum < 0) std::puts("never");
    });
    std::printf("%d\n", settings[0]);
}
