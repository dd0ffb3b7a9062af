/* kit
class = "initialised by the wrong partition: cyclic"
truth = "Filled in parallel page by page in turn (page p by thread p mod 8), used in blocks: half of each block is on the other node."
build = ["gcc", "-O1"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["image", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include "team.h"

enum { T = 8, PAGE = 512, PAGES = 512, N = PAGES * PAGE };
static double *image;

static void body(int id) {
#ifdef FIXED
    for (int p = id * PAGES / T; p < (id + 1) * PAGES / T; p++)
#else
    for (int p = id; p < PAGES; p += T)
#endif
        for (int i = p * PAGE; i < (p + 1) * PAGE; i++)
            image[i] = i;  // fill
    meet();
    for (int r = 0; r < 3; r++) {
        for (int i = id * (N / T); i < (id + 1) * (N / T); i++) image[i] = image[i] * 0.5 + r;
        meet();
    }
}

int main(void) {
    image = aligned_alloc(4096, N * sizeof *image);  // made
    team(T);
    printf("%f\n", image[8]);
}
