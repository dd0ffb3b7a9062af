/* kit
class = "false sharing of writers"
truth = "One thread writes the field `in` of every link, another the field `out`: all lines are shared, and no block of elements would help. The two fields must be split."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = ["links"], line = "hot", remedy = ["split"]}]
*/
#include <cstdio>
#include "team.hpp"

#ifdef FIXED
alignas(4096) static volatile long in[512], out[512];
#define IN(i) in[i]
#define OUT(i) out[i]
#else
struct Link { volatile long in, out; };
alignas(64) static Link links[256];
#define IN(i) links[i].in
#define OUT(i) links[i].out
#endif

int main() {
    together(2, [](int t) {
        for (int round = 0; round < 150; round++)
            for (int i = 0; i < 256; i++) {
                if (t == 0)
                    IN(i) = IN(i) + 1;  // hot
                else
                    OUT(i) = OUT(i) + 1;  // hot
            }
    });
    std::printf("%ld\n", IN(0) + OUT(1));
}
