/* kit
class = "partition against layout, clean"
truth = "Columns of rows as well, but the matrix fits every cache and each line belongs to one thread (blocks of eight doubles): after the first misses nothing is fetched again."
build = ["gcc", "-O1"]
*/
#include "team.h"

enum { T = 4, N = 32 };
static double matrix[N][N] __attribute__((aligned(4096)));

static void body(int id) {
    for (int step = 0; step < 300; step++) {
        for (int c = id * N / T; c < (id + 1) * N / T; c++)
            for (int r = 0; r < N; r++) matrix[r][c] += step;
        meet();
    }
}

int main(void) {
    team(T);
    printf("%f\n", matrix[3][4]);
}
