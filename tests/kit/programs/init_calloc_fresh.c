/* kit
class = "initialised by calloc, clean"
truth = "calloc of a large block returns fresh pages of the kernel and touches none of them: the threads touch their own parts first."
build = ["gcc", "-O2"]
machine = "small.toml"
*/
#include "team.h"

enum { T = 8, N = 300000 };
static double *a;

static void body(int id) {
    for (int r = 0; r < 3; r++) {
        for (long i = (long)id * N / T; i < (long)(id + 1) * N / T; i++) a[i] += i;
        meet();
    }
}

int main(void) {
    a = calloc(N, sizeof *a);
    team(T);
    printf("%f\n", a[3]);
}
