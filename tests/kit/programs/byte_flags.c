/* kit
class = "false sharing of 1-byte data"
truth = "Four flags of one byte with one owner each, in one line."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
required = true
bugs = [{object = "done", line = "hot", remedy = ["pad"]}]
*/
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#ifdef FIXED
static volatile char done[4][64] __attribute__((aligned(64)));
#define DONE(t) done[t][0]
#else
static volatile char done[4] __attribute__((aligned(64)));
#define DONE(t) done[t]
#endif

static void *work(void *p) {
    intptr_t t = (intptr_t)p;
    for (int i = 0; i < 100000; i++)
        DONE(t)++;  // hot
    return NULL;
}

int main(void) {
    pthread_t thread[4];
    for (intptr_t t = 0; t < 4; t++) pthread_create(&thread[t], NULL, work, (void *)t);
    for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
    printf("%d\n", DONE(0));
}
