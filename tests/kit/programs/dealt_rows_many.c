/* kit
class = "dealt row-wise, above 2,000 lines"
truth = "Rows of ten floats (40 bytes), row r to thread r mod 8: 6,400 rows, 4,000 lines, nearly each with rows of two threads. Blocks of 800 rows are 500 lines."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = "grid", line = "hot", remedy = ["blocks", "pad"]}]
*/
#include "team.h"

enum { T = 8, ROWS = 6400, COLUMNS = 10 };
static volatile float grid[ROWS][COLUMNS] __attribute__((aligned(64)));

static void body(int id) {
    for (int round = 0; round < 6; round++) {
#ifdef FIXED
        for (int r = id * ROWS / T; r < (id + 1) * ROWS / T; r++)
#else
        for (int r = id; r < ROWS; r += T)
#endif
            for (int c = 0; c < COLUMNS; c++)
                grid[r][c] += 0.5f;  // hot
        meet();
    }
}

int main(void) {
    team(T);
    printf("%f\n", grid[5][5]);
}
