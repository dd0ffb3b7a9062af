/* kit
class = "false sharing of writers"
truth = "Two threads count in two fields of one struct; each half of a line. The third field nobody writes."
build = ["clang", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = "link", line = "hot", remedy = ["split", "pad"]}]
*/
#include <pthread.h>
#include <stdio.h>

static struct {
    volatile unsigned long sent __attribute__((aligned(64)));
#ifdef FIXED
    char rest[64];
#endif
    volatile unsigned long received;
    unsigned long limit;
} link = {0};

static void *sender(void *p) {
    for (int i = 0; i < 80000; i++)
        link.sent += 3;  // hot
    return p;
}

static void *receiver(void *p) {
    for (int i = 0; i < 80000; i++)
        link.received += 1;  // hot
    return p;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, sender, NULL);
    pthread_create(&b, NULL, receiver, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%lu %lu\n", link.sent, link.received);
}
