/* kit
class = "heap neighbours: objects of a class"
truth = "Main makes one object of 24 bytes for each worker, one after the other: the heap puts them side by side, and each worker counts in its own."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = ["main", "Worker"], made = "made", line = "hot", remedy = ["pad", "align"]}]
*/
#include <cstdio>
#include <memory>
#include <vector>
#include "team.hpp"

#ifdef FIXED
class alignas(64) Worker {
#else
class Worker {
#endif
    volatile long done_ = 0, bytes_ = 0;
  public:
    void step(long n) {
        done_ = done_ + 1;    // hot
        bytes_ = bytes_ + n;  // hot
    }
    long done() const { return done_; }
};

int main() {
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < 6; i++) workers.emplace_back(new Worker);  // made
    together(6, [&](int id) {
        for (int i = 0; i < 12000; i++) workers[id]->step(i);
    });
    std::printf("%ld\n", workers[3]->done());
}
