/* kit
class = "OpenMP"
truth = "Counters side by side in a parallel region, whose threads run at once."
build = ["gcc", "-O1", "-fopenmp"]
repaired = ["-DFIXED"]
bugs = [{object = "hits", line = "hot", remedy = ["pad"]}]
*/
#include <omp.h>
#include <stdio.h>

#ifdef FIXED
static struct { _Alignas(64) volatile int n; } hits[4];
#else
static struct { volatile int n; } hits[4] __attribute__((aligned(64)));
#endif

int main(void) {
    #pragma omp parallel num_threads(4)
    {
        int t = omp_get_thread_num();
        for (int i = 0; i < 30000; i++)
            hits[t].n++;  // hot
    }
    printf("%d\n", hits[0].n);
}
