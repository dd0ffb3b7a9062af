/* kit
class = "neighbours among globals"
truth = "Two counters of two threads that the linker puts side by side (checked at the start)."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = ["produced", "consumed", "rejected"], line = "hot", remedy = ["pad", "align", "split"]}]
*/
#include "team.h"

#ifdef FIXED
#define ALIGNED __attribute__((aligned(64)))
#else
#define ALIGNED __attribute__((aligned(32)))
#endif
volatile long produced ALIGNED = 1;
volatile long consumed ALIGNED = 1;
volatile long rejected ALIGNED = 1;

static void body(int id) {
    if (id == 0)
        for (int i = 0; i < 60000; i++)
            produced++;  // hot
    else if (id == 1)
        for (int i = 0; i < 60000; i++)
            consumed++;  // hot
    else
        for (int i = 0; i < 60000; i++)
            rejected++;  // hot
}

static uintptr_t line(volatile long *p) { return (uintptr_t)p / 64; }

int main(void) {
    int together = line(&produced) == line(&consumed) || line(&consumed) == line(&rejected) || line(&produced) == line(&rejected);
#ifdef FIXED
    if (together) return 1;
#else
    if (!together) return 1;
#endif
    team(3);
    printf("%ld %ld %ld\n", produced, consumed, rejected);
}
