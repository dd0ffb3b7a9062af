/* kit
class = "true sharing: a lock-free stack"
truth = "Four threads push and pop blocks of one stack by compare-and-swap of its head."
build = ["gcc", "-O2"]
libs = ["-latomic"]
shared = [{object = "head", line = "hot"}]
*/
#include <atomic>
#include <cstdio>
#include "team.hpp"

struct Node { std::atomic<unsigned> next; unsigned value; char rest[56]; };
alignas(64) static Node nodes[64];
alignas(64) static std::atomic<unsigned long> head;  // index in the low half, a tag in the high one

static void push(unsigned n) {
    unsigned long old = head.load();  // hot
    do nodes[n].next.store(unsigned(old));
    while (!head.compare_exchange_weak(old, ((old >> 32) + 1) << 32 | n));  // hot
}
static unsigned pop() {
    unsigned long old = head.load();  // hot
    while (unsigned(old) && !head.compare_exchange_weak(old, ((old >> 32) + 1) << 32 | nodes[unsigned(old)].next.load())) {}  // hot
    return unsigned(old);
}

int main() {
    for (unsigned n = 1; n < 64; n++) push(n);
    together(4, [](int) {
        for (int i = 0; i < 10000; i++)
            if (unsigned n = pop()) nodes[n].value++, push(n);
    });
    std::printf("%u\n", nodes[5].value);
}
