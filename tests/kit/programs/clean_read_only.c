/* kit
class = "clean"
truth = "Three threads search one small table that main fills and that fits every cache: one miss a line and thread."
build = ["gcc", "-O0"]
*/
#include "team.h"

enum { T = 3, N = 2048 };
static int keys[N] __attribute__((aligned(64)));
static struct { _Alignas(64) volatile long found; } result[T];

static void body(int id) {
    for (int i = 0; i < 8000; i++) {
        int low = 0, high = N, want = (i * 37 + id) % (2 * N);
        while (low < high) {
            int middle = (low + high) / 2;
            if (keys[middle] < want) low = middle + 1;
            else high = middle;
        }
        result[id].found += low < N && keys[low] == want;
    }
}

int main(void) {
    for (int i = 0; i < N; i++) keys[i] = 2 * i;
    team(T);
    printf("%ld\n", result[0].found);
}
