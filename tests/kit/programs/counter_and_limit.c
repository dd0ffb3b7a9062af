/* kit
class = "false sharing of a writer with readers"
truth = "One thread counts, three read a limit beside the counter: each count takes the line from the readers. A line of its own for the counter ends it."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
required = true
bugs = [{object = "shared", line = "hot", remedy = ["split", "pad"]}]
*/
#include <pthread.h>
#include <stdio.h>

static struct {
    volatile long counter;
#ifdef FIXED
    char rest[56];
#endif
    volatile long limit;
} __attribute__((aligned(64))) shared = {.counter = 0, .limit = 7};
long table[256];

static void *count(void *p) {
    for (int i = 0; i < 100000; i++)
        shared.counter++;  // hot
    return p;
}

static void *look(void *p) {
    long x = 0;
    for (int i = 0; i < 100000; i++) {
        x += shared.limit;  // hot
        x += table[i & 255];
    }
    return (void *)x;
}

int main(void) {
    pthread_t thread[4];
    pthread_create(&thread[0], NULL, count, NULL);
    for (int i = 1; i < 4; i++) pthread_create(&thread[i], NULL, look, NULL);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    printf("%ld\n", shared.counter);
}
