/* kit
class = "wrappers"
truth = "`hits` and `table` come from one wrapper: two objects, of which one is falsely shared. The line to change is the wrapper's caller."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
required = true
bugs = [{object = ["hits", "main"], made = "made", line = "hot", remedy = ["pad"]}]
*/
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void *zeroed(size_t n) {
    void *p = aligned_alloc(64, (n + 63) / 64 * 64);
    if (!p) abort();
    return p;
}

#ifdef FIXED
enum { STEP = 16 };
#else
enum { STEP = 1 };
#endif
static volatile int *hits;
static volatile double *table;

static void *work(void *p) {
    intptr_t t = (intptr_t)p;
    double s = 0;
    for (int i = 0; i < 50000; i++) {
        hits[t * STEP]++;  // hot
        s += table[i % 1000];
    }
    return (void *)(intptr_t)s;
}

int main(void) {
    table = zeroed(8000);
    hits = zeroed(4 * STEP * sizeof *hits);  // made
    pthread_t thread[4];
    for (intptr_t t = 0; t < 4; t++) pthread_create(&thread[t], NULL, work, (void *)t);
    for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
    printf("%d\n", hits[0]);
}
