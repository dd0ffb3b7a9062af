/* kit
class = "false sharing: narrow tiles"
truth = "An image is dealt in tiles of 8 x 8 pixels of 4 bytes: half a line is one thread's, half its neighbour's."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = "image", line = "hot", remedy = ["pad", "align", "blocks"]}]
*/
#include "team.h"

enum { T = 4, W = 256, H = 64 };
#ifdef FIXED
enum { TILE = 16 };
#else
enum { TILE = 8 };
#endif
static int image[H][W] __attribute__((aligned(64)));

static void body(int id) {
    for (int round = 0; round < 12; round++) {
        for (int row = 0; row < H; row += TILE)
            for (int column = 0; column < W; column += TILE) {
                if ((row / TILE + column / TILE) % T != id) continue;
                for (int r = row; r < row + TILE; r++)
                    for (int c = column; c < column + TILE; c++) image[r][c] += round;  // hot
            }
        meet();
    }
}

int main(void) {
    team(T);
    printf("%d\n", image[5][5]);
}
