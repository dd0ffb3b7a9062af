// Uses two arrays, the first three times as much as the second, for about a second; prints where they are.
#include <stdio.h>
#include <time.h>

#define WORDS (1 << 17)
static unsigned long first[WORDS], second[WORDS];

static void sweep(unsigned long *words) {
    for (unsigned i = 0; i < WORDS; i += 8)
        words[i]++;
}

int main(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    printf("%lx %lx\n", (unsigned long)first, (unsigned long)second);
    fflush(stdout);
    do {
        for (int i = 0; i < 300; i++) {
            sweep(first);
            sweep(first);
            sweep(first);
            sweep(second);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 1000);
    return first[8] == 0;
}
