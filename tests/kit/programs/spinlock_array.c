/* kit
class = "adjacent locks: spinlocks"
truth = "Eight test-and-set locks of one byte, each used by one thread, side by side: 16 fights a round for one line. What they guard has lines of its own."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = "locks", line = "hot", remedy = ["pad"]}]
*/
#include <stdatomic.h>
#include "team.h"

enum { T = 8 };
#ifdef FIXED
static struct { _Alignas(64) atomic_flag flag; } locks[T];
#else
static struct { atomic_flag flag; } locks[T] __attribute__((aligned(64)));
#endif
static struct { _Alignas(64) volatile long n; } guarded[T];

static void body(int id) {
    for (int i = 0; i < 15000; i++) {
        while (atomic_flag_test_and_set_explicit(&locks[id].flag, memory_order_acquire)) {}  // hot
        guarded[id].n += i;
        atomic_flag_clear_explicit(&locks[id].flag, memory_order_release);  // hot
    }
}

int main(void) {
    team(T);
    printf("%ld\n", guarded[0].n);
}
