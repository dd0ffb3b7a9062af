/* kit
class = "true sharing: everybody's last word"
truth = "Each of three threads stores its number into one global at every step and reads it back: the word itself is fought over."
build = ["clang", "-O1"]
shared = [{object = "last", line = "hot"}]
*/
#include <stdatomic.h>
#include "team.h"

enum { T = 3 };
static struct { _Alignas(64) _Atomic int word; } last;
static struct { _Alignas(64) volatile long other; } seen[T];

static void body(int id) {
    for (int i = 0; i < 30000; i++) {
        if (atomic_load_explicit(&last.word, memory_order_relaxed) != id)  // hot
            seen[id].other++;
        atomic_store_explicit(&last.word, id, memory_order_relaxed);  // hot
    }
}

int main(void) {
    team(T);
    printf("%ld\n", seen[0].other);
}
