/* kit
class = "wrappers"
truth = "grab() calls obtain() calls malloc: the counters and the names have different callers of grab(); only the counters are fought over."
build = ["clang", "-O0"]
repaired = ["-DFIXED"]
bugs = [{object = ["counters", "main", "make_counters"], made = "made", line = "hot", remedy = ["pad"]}]
*/
#include "team.h"

static void *obtain(size_t n) {
    void *p = aligned_alloc(64, (n + 63) / 64 * 64);
    if (!p) exit(1);
    return p;
}

static void *grab(size_t count, size_t each) {
    void *p = obtain(count * each);
    memset(p, 0, count * each);
    return p;
}

#ifdef FIXED
enum { STEP = 64 / sizeof(int) };
#else
enum { STEP = 1 };
#endif
static volatile int *counters;
static volatile char *names;

static void body(int id) {
    int letters = 0;
    for (int i = 0; i < 30000; i++) {
        counters[id * STEP] += 1;  // hot
        letters += names[(id * 64 + i % 64)];
    }
    if (letters < 0) puts("no");
}

int main(void) {
    names = grab(16, 64);
    counters = grab(16 * STEP, sizeof *counters);  // made
    team(5);
    printf("%d\n", counters[0]);
}
