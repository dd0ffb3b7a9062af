/* kit
class = "true sharing: flag ping-pong, polling"
truth = "Two threads hand eight words to and fro; each waits for the other by polling an atomic flag. The transfers of flag and words are the program's purpose, how often it polled is the host's."
build = ["gcc", "-O2"]
shared = [{object = ["ball", "turn"], line = "hot"}]
*/
#include <atomic>
#include <cstdio>
#include <thread>

alignas(64) static std::atomic<int> turn{0};
alignas(64) static volatile long ball[8];

static void play(int me) {
    for (int i = 0; i < 4000; i++) {
        while (turn.load(std::memory_order_acquire) != me)  // hot
            std::this_thread::yield();
        for (int k = 0; k < 8; k++)
            ball[k] = ball[k] + me;  // hot
        turn.store(1 - me, std::memory_order_release);  // hot
    }
}

int main() {
    std::thread other(play, 1);
    play(0);
    other.join();
    std::printf("%ld\n", ball[0]);
}
