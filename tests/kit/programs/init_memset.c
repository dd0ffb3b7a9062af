/* kit
class = "initialised by main: memset"
truth = "Main clears a grid by memset; eight threads then own a band of rows each."
build = ["clang", "-O2"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["grid", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include "team.h"

enum { T = 8, ROWS = 512, COLUMNS = 512 };
static float (*grid)[COLUMNS];

static void body(int id) {
    int from = id * ROWS / T, to = (id + 1) * ROWS / T;
#ifdef FIXED
    memset(grid[from], 0, (to - from) * sizeof *grid);
    meet();
#endif
    for (int step = 0; step < 3; step++) {
        for (int r = from; r < to; r++)
            for (int c = 0; c < COLUMNS; c++) grid[r][c] += r * 0.25f + step;
        meet();
    }
}

int main(void) {
    grid = aligned_alloc(4096, ROWS * sizeof *grid);  // made
#ifndef FIXED
    memset(grid, 0, ROWS * sizeof *grid);  // fill
#endif
    team(T);
    printf("%f\n", grid[9][9]);
}
