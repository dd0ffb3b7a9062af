/* kit
class = "partition against layout"
truth = "Filled by blocks of rows, used by blocks of columns: each page (a row) is used by all threads, so no home is right for it. Used by rows, all is local."
build = ["gcc", "-O1"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["matrix", "main"], made = "made", line = "hot", remedy = ["loops"]}]
*/
#include "team.h"

enum { T = 8, N = 512 };
static double (*matrix)[N];

static void body(int id) {
    int from = id * N / T, to = (id + 1) * N / T;
    for (int r = from; r < to; r++)
        for (int c = 0; c < N; c++) matrix[r][c] = r - c;
    for (int step = 0; step < 4; step++) {
        meet();
#ifdef FIXED
        for (int r = from; r < to; r++)
            for (int c = 0; c < N; c++)
#else
        for (int c = from; c < to; c++)
            for (int r = 0; r < N; r++)
#endif
                matrix[r][c] *= 1.25;  // hot
    }
}

int main(void) {
    matrix = aligned_alloc(4096, N * sizeof *matrix);  // made
    team(T);
    printf("%f\n", matrix[3][4]);
}
