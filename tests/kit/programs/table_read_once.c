/* kit
class = "read-shared table, copies do not pay"
truth = "Each thread reads the whole table once. Half of the reads are remote wherever it lives, and a copy costs more than it saves: filling one costs as much as the reads it makes local."
build = ["gcc", "-O2"]
machine = "small.toml"
*/
#include "team.h"

enum { T = 2, N = 120000 };
static double *table;
static volatile double out[T * 16];

static void body(int id) {
    double s = 0;
    for (int i = 0; i < N; i++) s += table[i];
    out[id * 16] = s;
}

int main(void) {
    table = malloc(N * sizeof *table);
    for (int i = 0; i < N; i++) table[i] = i;
    team(T);
    printf("%f\n", out[0]);
}
