/* kit
class = "false sharing of writers, thread pool"
truth = "Five workers of a pool that lives through all rounds count tasks and bytes in a vector of 16-byte structs: four in a line."
build = ["clang", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = ["stats", "Pool::Pool"], made = "made", line = "hot", remedy = ["pad"]}]
*/
#include <pthread.h>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#ifdef FIXED
struct alignas(64) Stats { volatile long tasks, bytes; };
#else
struct Stats { volatile long tasks, bytes; };
#endif

class Pool {
public:
    explicit Pool(int n) : stats(n) {  // made
        pthread_barrier_init(&barrier, nullptr, n + 1);
        for (int t = 0; t < n; t++) threads.emplace_back([this, t] { work(t); });
    }
    void round() {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    ~Pool() {
        over = true;
        pthread_barrier_wait(&barrier);
        for (auto &t : threads) t.join();
        std::printf("%ld\n", stats[0].tasks);
    }

private:
    void work(int id) {
        for (;;) {
            pthread_barrier_wait(&barrier);
            if (over) return;
            for (int i = 0; i < 10000; i++) {
                stats[id].tasks = stats[id].tasks + 1;        // hot
                stats[id].bytes = stats[id].bytes + (i & 7);  // hot
            }
            pthread_barrier_wait(&barrier);
        }
    }
    std::vector<Stats> stats;
    std::vector<std::thread> threads;
    pthread_barrier_t barrier;
    bool over = false;
};

int main() {
    Pool pool(5);  // made
    for (int r = 0; r < 3; r++) pool.round();
}
