/* kit
class = "dealt row-wise"
truth = "Points of three doubles, point i to thread i mod 5: rows of 24 bytes, so that each line has points of two to four threads."
build = ["clang", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["points", "main"], made = "made", line = "hot", remedy = ["blocks", "pad"]}]
*/
#include "team.h"

enum { T = 5, N = 1000 };
typedef struct { volatile double x, y, z; } Point;
static Point *points;

static void body(int id) {
    for (int round = 0; round < 30; round++) {
#ifdef FIXED
        for (int i = id * N / T; i < (id + 1) * N / T; i++) {
#else
        for (int i = id; i < N; i += T) {
#endif
            points[i].x += 1;            // hot
            points[i].y += points[i].x;  // hot
            points[i].z -= 1;            // hot
        }
        meet();
    }
}

int main(void) {
    points = aligned_alloc(64, N * sizeof *points);  // made
    team(T);
    printf("%f\n", points[7].y);
}
