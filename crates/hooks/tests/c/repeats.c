/* Loops of every kind over static arrays: what they refer to is the same in every run but for where the program lies. */
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 4096 };
static double a[N], b[N], c[N];
static uint8_t bytes[N];
static struct { int x, y; long z; } records[N];
static _Atomic int counter;
static volatile int wanted;
static unsigned next = 12345;

static unsigned drawn(unsigned below) {
    next = next * 1103515245 + 12345;
    return (next >> 16) % below;
}

__attribute__((noinline)) static void add(unsigned from, unsigned to, unsigned step) {
    for (unsigned i = from; i < to; i += step)
        a[i] = b[i] + c[i];
}

__attribute__((noinline)) static void down(unsigned from, unsigned n) {
    for (unsigned i = from; n--; i--)
        records[i].x += records[i].y, records[i].z++;
}

__attribute__((noinline)) static void gather(unsigned n) {
    for (unsigned i = 0; i < n; i++)
        c[i] += b[bytes[i]] * a[i];
}

__attribute__((noinline)) static void stencil(unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++)
        c[i] = a[i - 1] + a[i] + a[i + 1] + b[i - 1] + b[i] + b[i + 1] + c[i - 1] + c[i + 1] + bytes[i] + bytes[i + 1];
}

__attribute__((noinline)) static void one(unsigned n) {
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (uint8_t)i;
}

__attribute__((noinline)) static void wait(int reads) {
    for (int i = 0; i < reads && !wanted; i++)
        ;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 && !strcmp(argv[1], "kill") ? 700 : 2000;
    printf("%p\n", (void *)a);
    fflush(stdout);
    for (int round = 0; round < rounds; round++) {
        unsigned from = drawn(N / 2);
        switch (drawn(8)) {
        case 0: add(from, from + drawn(900), 1 + drawn(3)); break;
        case 1: down(from + N / 2 - 1, drawn(300)); break;
        case 2: gather(drawn(200)); break;
        case 3: stencil(from + 1, from + drawn(100)); break;
        case 4: one(drawn(2000)); break;
        case 5: for (unsigned n = drawn(40); n--;) add(from, from + drawn(20), 1); break;
        case 6: atomic_fetch_add(&counter, 1); break;
        case 7: wait((int)drawn(200)); break;
        }
    }
    if (rounds == 700)
        raise(SIGKILL);
    return 0;
}
