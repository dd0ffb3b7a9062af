/* kit
class = "false sharing of 2-byte data"
truth = "Three threads have eight cells of two bytes each, 48 bytes in one line."
build = ["clang", "-O0"]
repaired = ["-DFIXED"]
bugs = [{object = "cells", line = "hot", remedy = ["pad", "blocks"]}]
*/
#include "team.h"

enum { T = 3, BINS = 8 };
#ifdef FIXED
static struct { _Alignas(64) volatile uint16_t bin[BINS]; } cells[T];
#else
static struct { volatile uint16_t bin[BINS]; } cells[T] __attribute__((aligned(64)));
#endif

static void body(int id) {
    uint32_t x = id + 1;
    for (int i = 0; i < 40000; i++) {
        x = x * 1664525u + 1013904223u;
        cells[id].bin[x >> 29]++;  // hot
    }
}

int main(void) {
    team(T);
    printf("%d\n", cells[0].bin[0]);
}
