/* kit
class = "misaligned structs"
truth = "A struct of 64 bytes, dealt to threads one by one, in memory 16 bytes off the line: every line has the end of one and the begin of the next."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["cells", "main"], made = "made", line = "hot", remedy = ["align", "pad"]}]
*/
#include <cstdio>
#include <cstdlib>
#include "team.hpp"

struct Cell { volatile double first, rest[6], last; };

int main() {
    const int threads = 8, n = 512;
    char *room = static_cast<char *>(std::aligned_alloc(4096, (n + 64) * sizeof(Cell)));  // made
#ifdef FIXED
    Cell *cells = reinterpret_cast<Cell *>(room);
#else
    Cell *cells = reinterpret_cast<Cell *>(room + 16);
#endif
    together(threads, [&](int t) {
        for (int round = 0; round < 60; round++)
            for (int i = t; i < n; i += threads) {
                cells[i].first = round;  // hot
                cells[i].last = round;   // hot
            }
    });
    std::printf("%f\n", cells[0].first);
}
