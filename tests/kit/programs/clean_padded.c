/* kit
class = "clean"
truth = "A counter a thread, each alone in its line, over three generations of threads; main sums them at the end."
build = ["gcc", "-O2"]
*/
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static struct { _Alignas(64) volatile long n; } counter[12];

static void *work(void *p) {
    for (int i = 0; i < 15000; i++) counter[(intptr_t)p].n += i & 1;
    return p;
}

int main(void) {
    long sum = 0;
    for (int g = 0; g < 3; g++) {
        pthread_t thread[12];
        for (intptr_t t = 0; t < 12; t++) pthread_create(&thread[t], NULL, work, (void *)t);
        for (int t = 0; t < 12; t++) pthread_join(thread[t], NULL);
    }
    for (int t = 0; t < 12; t++) sum += counter[t].n;
    printf("%ld\n", sum);
}
