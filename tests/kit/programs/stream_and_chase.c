/* A stream and a pointer chase that miss about as often: a processor has many lines of the one under way at once, and of the other one after the other. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 1 << 19 };

static __attribute__((noinline)) uint64_t sum(const uint64_t *stream) {
    uint64_t all = 0;
    for (size_t i = 0; i < 8 * LINES; i++) all += stream[i];
    return all;
}

static __attribute__((noinline)) uint64_t follow(const uint64_t *chain) {
    uint64_t at = 0;
    for (size_t i = 0; i < LINES; i++) at = chain[at];
    return at;
}

int main(void) {
    uint64_t *stream = malloc(8 * LINES * sizeof *stream), *chain = malloc(8 * LINES * sizeof *chain);
    for (size_t i = 0; i < 8 * LINES; i++) stream[i] = i;
    /* One cycle through all lines: the multiplier is 5 modulo 8, the step odd. */
    for (uint64_t line = 0; line < LINES; line++) chain[8 * line] = (line * 1664525 + 1013904223) % LINES * 8;
    /* The chase comes first, which writes what is left in the caches back: the stream only reads. */
    uint64_t last = follow(chain), all = sum(stream);
    printf("%lu %lu\n", (unsigned long)last, (unsigned long)all);
    return 0;
}
