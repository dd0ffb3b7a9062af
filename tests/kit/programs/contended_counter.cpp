/* kit
class = "true sharing: a contended counter"
truth = "Eight threads add to one atomic word: every transfer brings a word that another wrote. No layout cures it."
build = ["gcc", "-O2"]
turns = true
shared = [{object = "tickets", line = "hot"}]
*/
#include <atomic>
#include <cstdio>
#include "team.hpp"

alignas(64) static std::atomic<long> tickets;
alignas(64) static char after[64];

int main() {
    together(8, [](int) {
        for (int i = 0; i < 15000; i++)
            tickets.fetch_add(1);  // hot
    });
    std::printf("%ld %d\n", tickets.load(), after[0]);
}
