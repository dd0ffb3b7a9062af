/* kit
class = "false sharing of a writer with readers"
truth = "An appender moves the cursor in a log's header; four readers take `entries` and `mask` from the same header for every look-up."
build = ["clang", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = ["log", "main", "journal"], made = "made", line = "hot", remedy = ["split", "pad"]}]
*/
#include "team.h"

enum { T = 5, ENTRIES = 256 };
struct journal {
    volatile long *volatile entries;
    volatile unsigned mask;
#ifdef FIXED
    char rest[128];
#endif
    volatile unsigned long cursor;
};
static struct journal *journal;
static struct { _Alignas(64) volatile long sum; } result[T];

static void body(int id) {
    for (unsigned i = 0; i < 20000; i++) {
        if (id == 0)
            journal->cursor = journal->cursor + 1;  // hot
        else
            result[id].sum += journal->entries[(i * 7) & journal->mask];  // hot
    }
}

int main(void) {
    journal = aligned_alloc(64, 256);  // made
    journal->entries = calloc(ENTRIES, sizeof(long));
    journal->mask = ENTRIES - 1;
    journal->cursor = 0;
    team(T);
    printf("%ld\n", result[1].sum);
}
