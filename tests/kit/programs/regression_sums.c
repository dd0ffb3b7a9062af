/* kit
class = "misaligned structs"
truth = "Structs of 64 bytes that begin 16 bytes after a line: two threads' sums share each line. Aligned, nothing is shared. Line 'reads only' never writes."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
required = true
bugs = [{object = ["args", "main"], made = "made", line = "hot", remedy = ["pad", "align"]}]
*/
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    pthread_t thread;
    const char *points;
    long n;
    volatile long sx, sy, sxx, syy, sxy;
} Args;
static char data[2000];

static void *sum(void *p) {
    Args *a = p;
    for (int round = 0; round < 5; round++)
        for (long i = 0; i < a->n; i++) {
            a->sx += a->points[i];                  // hot
            a->sxx += a->points[i] * a->points[i];  // hot
            a->sy += a->points[i] + 1;              // hot
            a->syy += 2 * a->points[i];             // hot
            a->sxy += 3 * a->points[i];             // hot
        }
    return NULL;
}

int main(void) {
#ifdef FIXED
    Args *args = aligned_alloc(64, 4 * sizeof(Args));
#else
    char *room = aligned_alloc(64, 5 * sizeof(Args));  // made
    Args *args = (Args *)(room + 16);
#endif
    long s = 0;
    memset(args, 0, 4 * sizeof(Args));
    for (int i = 0; i < 2000; i++) data[i] = i;
    for (int i = 0; i < 4; i++) {
        args[i].points = data + i * 500;
        args[i].n = 500;
        pthread_t thread;
        pthread_create(&thread, NULL, sum, &args[i]);
        args[i].thread = thread;
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(args[i].thread, NULL);
        s += args[i].sx + args[i].sy + args[i].sxx + args[i].syy + args[i].sxy;
    }
    printf("%zu %ld\n", sizeof(Args), s);
}
