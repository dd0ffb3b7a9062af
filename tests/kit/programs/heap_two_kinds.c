/* kit
class = "heap neighbours"
truth = "A writer's cursor and a reader's state are small allocations of two lines of the program, one after the other: one line of memory (checked at the start)."
build = ["clang", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["cursor", "state", "main"], made = "made", line = "hot", remedy = ["pad", "align", "split"]}]
*/
#include "team.h"

static volatile long *cursor;
static volatile int *state;

static void body(int id) {
    if (id == 0)
        for (int i = 0; i < 60000; i++)
            *cursor += 2;  // hot
    else
        for (int i = 0; i < 60000; i++)
            state[i & 3] ^= i;  // hot
}

int main(void) {
#ifdef FIXED
    size_t apart = 192;
#else
    size_t apart = 16;
#endif
    do {
        cursor = malloc(apart);  // made
        state = malloc(16);      // made
    } while (apart == 16 && (uintptr_t)cursor / 64 != (uintptr_t)state / 64);
    *cursor = 0;
    for (int i = 0; i < 4; i++) state[i] = 0;
    team(2);
    printf("%ld %d\n", *cursor, state[0]);
}
