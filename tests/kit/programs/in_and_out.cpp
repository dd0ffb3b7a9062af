/* kit
class = "false sharing of writers"
truth = "One thread writes the field `in` of every link, another the field `out`: all lines are shared, and no block of elements would help. The two fields must be split."
build = ["gcc", "-O2"]
twin = ["-DFIXED"]
bugs = [{object = ["links"], line = "hot", remedy = ["split"]}]
*/
#include <cstdio>
#include <thread>

#ifdef FIXED
alignas(64) static volatile long in[256], out[256];
#define IN(i) in[i]
#define OUT(i) out[i]
#else
struct Link { volatile long in, out; };
alignas(64) static Link links[256];
#define IN(i) links[i].in
#define OUT(i) links[i].out
#endif

int main() {
    std::thread receive([] {
        for (int round = 0; round < 150; round++)
            for (int i = 0; i < 256; i++)
                IN(i) = IN(i) + 1;  // hot
    });
    std::thread send([] {
        for (int round = 0; round < 150; round++)
            for (int i = 0; i < 256; i++)
                OUT(i) = OUT(i) + 1;  // hot
    });
    receive.join();
    send.join();
    std::printf("%ld\n", IN(0) + OUT(1));
}
