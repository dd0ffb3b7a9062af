/* kit
class = "true sharing: producer and consumer"
truth = "A pool takes numbered tasks from one queue under one std::mutex; what a task does stays in the worker's own line. The queue must travel."
build = ["gcc", "-O2"]
turns = true
shared = [{object = ["queue", "queue.next", "queue.mutex"], line = "hot"}]
*/
#include <cstdio>
#include <mutex>
#include "team.hpp"

static struct alignas(64) Queue {
    std::mutex mutex;
    volatile int next = 0;
} queue;
static struct alignas(64) Own { volatile long sum; } own[5];

static int take() {
    std::lock_guard<std::mutex> guard(queue.mutex);  // hot
    int task = queue.next;                           // hot
    queue.next = task + 1;                           // hot
    return task;
}  // hot

int main() {
    together(5, [](int t) {
        for (int task; (task = take()) < 20000;)  // hot
            for (int i = 0; i < 4; i++) own[t].sum = own[t].sum + task;
    });
    std::printf("%ld\n", own[0].sum);
}
