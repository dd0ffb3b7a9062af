/* kit
class = "false sharing of writers, thread generations"
truth = "Each generation's threads have an element each, all in one line. The owners' numbers change with the generations, their elements do not. Padding leaves one miss a line and thread."
build = ["gcc", "-O1"]
args = ["2"]
repaired = ["-DFIXED"]
required = true
bugs = [{object = "hits", line = "hot", remedy = ["pad"]}]
*/
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef FIXED
static struct { volatile int n; char rest[60]; } hits[4] __attribute__((aligned(64)));
#define HITS(t) hits[t].n
#else
static volatile int hits[4] __attribute__((aligned(64)));
#define HITS(t) hits[t]
#endif

static void *work(void *p) {
    intptr_t t = (intptr_t)p;
    for (int i = 0; i < 50000; i++)
        HITS(t)++;  // hot
    return NULL;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 2;
    for (int r = 0; r < rounds; r++) {
        pthread_t thread[4];
        for (intptr_t t = 0; t < 4; t++) pthread_create(&thread[t], NULL, work, (void *)t);
        for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
    }
    printf("%d\n", HITS(0));
}
