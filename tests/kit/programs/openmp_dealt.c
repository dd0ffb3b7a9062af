/* kit
class = "OpenMP"
truth = "A loop that deals its iterations to whoever comes next uses an array: no home fits two runs, so none may be advised."
build = ["gcc", "-O1", "-fopenmp"]
machine = "small.toml"
*/
#include <stdio.h>
#include <stdlib.h>

enum { T = 2, N = 200000 };

int main(void) {
    double *field = malloc(N * sizeof *field), s = 0;
    #pragma omp parallel for num_threads(T) schedule(static)
    for (long i = 0; i < N; i++)
        field[i] = 1.0 / (i + 1);
    for (int r = 0; r < 3; r++) {
        #pragma omp parallel for num_threads(T) schedule(dynamic, 64) reduction(+ : s)
        for (long i = 0; i < N; i++)
            s += field[i] * r;
    }
    printf("%f\n", s);
}
