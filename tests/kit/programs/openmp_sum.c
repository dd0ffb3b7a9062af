/* kit
class = "OpenMP"
truth = "Loops with one schedule fill an array and add it up: each thread uses what it has filled. Nothing is wrong."
build = ["gcc", "-O1", "-fopenmp"]
*/
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    enum { N = 200000 };
    double *a = malloc(N * sizeof *a), s = 0;
    #pragma omp parallel for num_threads(4)
    for (int i = 0; i < N; i++) a[i] = i;
    for (int r = 0; r < 3; r++) {
        #pragma omp parallel for reduction(+ : s) num_threads(4)
        for (int i = 0; i < N; i++) s += a[i];
    }
    printf("%f\n", s);
}
