/* kit
class = "initialised by main: mmap"
truth = "Main maps memory, fills it, and three threads use a third each. The second thread shares main's node, the third does not."
build = ["gcc", "-O0"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["samples", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#define _GNU_SOURCE
#include <sys/mman.h>
#include "team.h"

enum { T = 3, N = 240000 };
static float *samples;

static void fill(int from, int to) {
    for (int i = from; i < to; i++)
        samples[i] = i * 0.5f;  // fill
}

static void body(int id) {
    int from = id * (N / T), to = (id + 1) * (N / T);
#ifdef FIXED
    fill(from, to);
#endif
    meet();
    for (int r = 0; r < 3; r++)
        for (int i = from; i < to; i++) samples[i] += r;
}

int main(void) {
    samples = mmap(NULL, N * sizeof *samples, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);  // made
#ifndef FIXED
    fill(0, N);  // fill
#endif
    team(T);
    printf("%f\n", samples[1]);
}
