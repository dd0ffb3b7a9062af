/* kit
class = "true sharing: a hash table"
truth = "Four threads count words of a small vocabulary in one table of atomics: any thread writes any bucket, at random."
build = ["gcc", "-O2"]
shared = [{object = "buckets", line = "hot"}]
*/
#include <atomic>
#include <cstdio>
#include "team.hpp"

struct Bucket { std::atomic<long> key, count; };
static Bucket buckets[256];

int main() {
    together(4, [](int id) {
        unsigned long x = 88172645463325252ull + 977 * id;
        for (int i = 0; i < 20000; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            long key = 1 + long(x % 200);
            for (unsigned at = key * 7 % 256;; at = (at + 1) % 256) {
                long seen = buckets[at].key.load();                                               // hot
                if (seen == 0 && buckets[at].key.compare_exchange_strong(seen, key)) seen = key;  // hot
                if (seen == key) {
                    buckets[at].count.fetch_add(1);  // hot
                    break;
                }
            }
        }
    });
    std::printf("%ld\n", buckets[7].count.load());
}
