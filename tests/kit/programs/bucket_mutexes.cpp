/* kit
class = "adjacent locks: std::mutex"
truth = "Buckets of 48 bytes with a std::mutex and a sum; each thread uses its own bucket only, most lines have two."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = "buckets", line = "hot", remedy = ["pad", "align"]}]
*/
#include <cstdio>
#include <mutex>
#include "team.hpp"

#ifdef FIXED
struct alignas(64) Bucket {
#else
struct Bucket {
#endif
    std::mutex mutex;
    long sum = 0;
    void add(long x) {
        std::lock_guard<std::mutex> guard(mutex);  // hot
        sum += x;                                  // hot
    }                                              // hot
};

alignas(64) static Bucket buckets[8];

int main() {
    together(8, [](int t) {
        for (int i = 0; i < 15000; i++)
            buckets[t].add(i);  // hot
    });
    std::printf("%ld\n", buckets[3].sum);
}
