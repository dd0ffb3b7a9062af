/* kit
class = "OpenMP: synchronisation is unseen"
truth = "The loops' barriers are inside libgomp: what the threads did after which other cannot be seen, and the report must say that it cannot tell."
build = ["gcc", "-O1", "-fopenmp"]
unseen = true
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
