// Two threads look numbers up in one std::map that both have filled before.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>
static std::map<uint64_t, uint64_t> tree;
static uint64_t found[2][64];
static void look(int t, uint64_t n, uint64_t lookups) {
    uint64_t x = 88172645463325252ull + t * 7919;
    for (uint64_t i = 0; i < lookups; i++) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        auto it = tree.find(x % n * 2654435761u % 4294967291u);
        if (it != tree.end()) found[t][0] += it->second;
    }
}
int main(int argc, char **argv) {
    uint64_t n = argc > 1 ? strtoull(argv[1], 0, 10) : 1000000, lookups = argc > 2 ? strtoull(argv[2], 0, 10) : 1000000;
    for (uint64_t i = 0; i < n; i++) tree[i * 2654435761u % 4294967291u] = i;
    std::thread a(look, 0, n, lookups), b(look, 1, n, lookups);
    a.join(); b.join();
    printf("%llu\n", (unsigned long long)(found[0][0] + found[1][0]));
}
