/* Data of every shape that C has, as variables and as blocks; each is written once at a place that the test names. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct inner {
    int low, high;
};

struct stats {
    long hits;
    struct inner range;
    short pair[2][3];
    unsigned a : 3, b : 13, c : 16;
    union {
        int number;
        float real;
    } value;
};

typedef struct {
    double x, y;
} point;

struct stats global[4];
static point origin;
static const volatile long *watched;

static void *own_block(size_t n) {
    return calloc(1, n);
}

static volatile struct stats *block;
static point *points;

__attribute__((noinline)) static void say(const char *what, const volatile void *at) {
    printf("%s %#lx\n", what, (unsigned long)at);
}

int main(int argc, char **argv) {
    static struct inner local[2];
    size_t n = 2 + (size_t)argc;
    if (argc > 1 && !freopen(argv[1], "w", stdout))
        return 1;
    block = own_block(n * sizeof *block);
    points = malloc(n * sizeof *points);
    volatile struct stats *mine = malloc(sizeof *mine);
    char *bytes = malloc(64);
    global[3].hits = argc, say("global[3].hits", &global[3].hits);
    global[1].range.high = argc, say("global[1].range.high", &global[1].range.high);
    global[0].pair[1][2] = (short)argc, say("global[0].pair[1][2]", &global[0].pair[1][2]);
    global[2].value.real = 1, say("global[2].value", &global[2].value);
    origin.y = 1, say("origin.y", &origin.y);
    local[1].low = argc, say("local[1].low", &local[1].low);
    block[2].range.low = argc, say("block[2].range.low", &block[2].range.low);
    points[1].y = 1, say("points[1].y", &points[1].y);
    mine->pair[0][1] = 1, say("mine.pair[0][1]", &mine->pair[0][1]);
    bytes[5] = 1, say("-", &bytes[5]);
    watched = &block[0].hits;
    printf("sum %ld\n", *watched + mine->pair[0][1] + bytes[5] + (long)points[1].y + local[1].low);
    return 0;
}
