/* Five generations of four threads of C11, each with a part of its own: at most five threads live at once. */
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum { T = 4, N = 4096 };
static double *a;

static int work(void *argument) {
    long id = (long)argument;
    for (long i = id * N; i < (id + 1) * N; i++) a[i] += i;
    return 0;
}

int main(void) {
    a = calloc(T * N, sizeof *a);
    for (int generation = 0; generation < 5; generation++) {
        thrd_t t[T];
        for (long i = 0; i < T; i++) thrd_create(&t[i], work, (void *)i);
        for (int i = 0; i < T; i++) thrd_join(t[i], NULL);
    }
    printf("%f\n", a[9]);
    return 0;
}
