/* kit
class = "clean"
truth = "Each thread builds and searches a tree of its own, from malloc."
build = ["gcc", "-O1"]
*/
#include "team.h"

enum { T = 4, N = 3000 };
struct node { struct node *less, *more; long key; char text[24]; };
static struct { _Alignas(64) volatile long found; } result[T];

static void body(int id) {
    struct node *root = NULL;
    unsigned x = 12345 + id;
    for (int i = 0; i < N; i++) {
        x = x * 1664525 + 1013904223;
        struct node **at = &root;
        while (*at) at = (long)x < (*at)->key ? &(*at)->less : &(*at)->more;
        *at = calloc(1, sizeof **at);
        (*at)->key = x;
    }
    for (int i = 0; i < 3 * N; i++) {
        x = x * 1664525 + 1013904223;
        struct node *at = root;
        while (at && at->key != (long)x) at = (long)x < at->key ? at->less : at->more;
        result[id].found += at != NULL;
    }
}

int main(void) {
    team(T);
    printf("%ld\n", result[0].found);
}
