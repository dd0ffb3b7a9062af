/* kit
class = "misaligned structs"
truth = "Blocks of 16 x 16 doubles of a matrix belong to threads in turn. Rows of a block are two lines, but the matrix begins 16 bytes after a line (as malloc leaves large blocks): the third line is half the neighbour's. Aligned, no line is shared."
build = ["gcc", "-O2"]
repaired = ["-DFIXED"]
bugs = [{object = ["matrix", "main"], made = "made", line = "hot", remedy = ["align", "pad", "blocks"]}]
*/
#include "team.h"

enum { T = 8, N = 128, B = 16 };
static double *matrix;

static void update(int row, int column) {
    for (int r = row; r < row + B; r++)
        for (int c = column; c < column + B; c++)
            matrix[r * N + c] = matrix[r * N + c] * 0.5 + 1;  // hot
}

static void body(int id) {
    for (int step = 0; step < 8; step++) {
        for (int block = 0; block < (N / B) * (N / B); block++)
            if ((block % (N / B) + 3 * (block / (N / B))) % T == id) update(block / (N / B) * B, block % (N / B) * B);
        meet();
    }
}

int main(void) {
    char *room = aligned_alloc(4096, N * N * sizeof *matrix + 4096);  // made
#ifdef FIXED
    matrix = (double *)room;
#else
    matrix = (double *)(room + 16);
#endif
    team(T);
    printf("%f\n", matrix[0]);
}
