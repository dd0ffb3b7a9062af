/* kit
class = "adjacent locks: pthread_rwlock_t"
truth = "Reader-writer locks of 56 bytes, one a thread: all but one line belong to two of them."
build = ["clang", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = "shards", line = "hot", remedy = ["pad", "align"]}]
*/
#include "team.h"

enum { T = 8 };
#ifdef FIXED
static struct { _Alignas(64) pthread_rwlock_t lock; } shards[T];
#else
static struct { pthread_rwlock_t lock; } shards[T] __attribute__((aligned(64)));
#endif
static struct { _Alignas(64) volatile long n; } values[T];

static void body(int id) {
    for (int i = 0; i < 8000; i++) {
        if (i % 8) pthread_rwlock_rdlock(&shards[id].lock);  // hot
        else pthread_rwlock_wrlock(&shards[id].lock);        // hot
        values[id].n += i;
        pthread_rwlock_unlock(&shards[id].lock);  // hot
    }
}

int main(void) {
    for (int i = 0; i < T; i++) pthread_rwlock_init(&shards[i].lock, NULL);
    team(T);
    printf("%ld\n", values[0].n);
}
