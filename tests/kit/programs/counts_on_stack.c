/* kit
class = "false sharing on a stack"
truth = "Main keeps its threads' counters in an array on its stack: four longs in one line."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["counts", "stack of thread 0", "main"], line = "hot", remedy = ["pad", "private", "align"]}]
*/
#include <pthread.h>
#include <stdio.h>

static void *work(void *p) {
    volatile long *mine = p;
    for (int i = 0; i < 40000; i++)
        *mine += i & 1;  // hot
    return p;
}

int main(void) {
#ifdef FIXED
    _Alignas(64) long counts[4 * 8] = {0};
    enum { STEP = 8 };
#else
    _Alignas(64) long counts[4] = {0};
    enum { STEP = 1 };
#endif
    pthread_t thread[4];
    for (int t = 0; t < 4; t++) pthread_create(&thread[t], NULL, work, &counts[t * STEP]);
    for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
    printf("%ld\n", counts[0]);
}
