/* Four processes, each waited for before the next one starts (argument 1) or all at once (0). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int one_by_one = argc > 1 && atoi(argv[1]);
    for (int p = 0; p < 4; p++) {
        if (fork() == 0) {
            double *a = malloc(1 << 16), s = 0;
            for (int r = 0; r < 3; r++)
                for (int i = 0; i < 8192; i++) a[i] = i + r;
            for (int i = 0; i < 8192; i++) s += a[i];
            printf("%f\n", s);
            exit(0);
        }
        if (one_by_one) wait(NULL);
    }
    while (wait(NULL) > 0) {}
    return 0;
}
