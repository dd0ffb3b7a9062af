/* kit
class = "true sharing: reduction into one word"
truth = "Each thread adds each element to one atomic sum at once instead of its own first."
build = ["gcc", "-O1"]
turns = true
shared = [{object = "sum", line = "hot"}]
*/
#include <stdatomic.h>
#include "team.h"

enum { T = 8, N = 96000 };
static struct { _Alignas(64) _Atomic long word; } sum;
static int values[N];

static void body(int id) {
    for (int i = id * N / T; i < (id + 1) * N / T; i++) values[i] = i & 7;
    for (int i = id * N / T; i < (id + 1) * N / T; i++)
        atomic_fetch_add_explicit(&sum.word, values[i], memory_order_relaxed);  // hot
}

int main(void) {
    team(T);
    printf("%ld\n", sum.word);
}
