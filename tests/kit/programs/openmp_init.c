/* kit
class = "OpenMP"
truth = "Main fills an array that the threads of loops with a static schedule then use, each its part, three times over."
build = ["gcc", "-O1", "-fopenmp"]
machine = "small.toml"
repaired = ["-DFIXED"]
bugs = [{object = ["field", "main"], made = "made", line = "fill", remedy = ["initialise"]}]
*/
#include <stdio.h>
#include <stdlib.h>

enum { T = 2, N = 200000 };

int main(void) {
    double *field = malloc(N * sizeof *field), s = 0;  // made
#ifdef FIXED
    #pragma omp parallel for num_threads(T) schedule(static)
#endif
    for (long i = 0; i < N; i++)
        field[i] = 1.0 / (i + 1);  // fill
    for (int r = 0; r < 3; r++) {
        #pragma omp parallel for num_threads(T) schedule(static) reduction(+ : s)
        for (long i = 0; i < N; i++)
            s += field[i] * r;
    }
    printf("%f\n", s);
}
