/* Aggregates that one compiler copies as a range and another in pieces. */
#include "expect.h"

struct line {
    long word[4];
};
struct odd {
    char byte[40];
};
static struct line lines[2];
static struct odd odds[2];

static NOINLINE void copy(struct line *a, const struct line *b, struct odd *c, const struct odd *d) {
    *a = *b;
    FENCE();
    *c = *d;
}

int main(void) {
    homenode_phase_begin("copy");
    copy(&lines[0], &lines[1], &odds[0], &odds[1]);
    homenode_phase_end("copy");
    return 0;
}
