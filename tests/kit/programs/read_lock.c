/* kit
class = "true sharing: readers of one rwlock"
truth = "Eight threads read under one reader-writer lock and never write: what it guards stays in their caches, the lock's own words do not."
build = ["gcc", "-O2"]
shared = [{object = ["lock", "registry"], line = "hot"}]
*/
#include "team.h"

enum { T = 8 };
static struct { _Alignas(64) pthread_rwlock_t lock; } registry = {.lock = PTHREAD_RWLOCK_INITIALIZER};
static struct { _Alignas(64) volatile int entry[16]; } guarded;
static struct { _Alignas(64) volatile long sum; } own[T];

static void body(int id) {
    for (int i = 0; i < 8000; i++) {
        pthread_rwlock_rdlock(&registry.lock);  // hot
        own[id].sum += guarded.entry[i & 15];
        pthread_rwlock_unlock(&registry.lock);  // hot
    }
}

int main(void) {
    for (int i = 0; i < 16; i++) guarded.entry[i] = i;
    team(T);
    printf("%ld\n", own[0].sum);
}
