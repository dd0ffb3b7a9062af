/* Has much and uses little: sparse MEGABYTES STRIDE SECONDS allocates so many megabytes, of which two threads use every
 * STRIDE-th page of a half each for so long; says how much of the process is in memory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };
static size_t bytes, stride;
static time_t end;

static void *use(void *half) {
    for (volatile char *p; time(NULL) < end;)
        for (p = half; p < (volatile char *)half + bytes / 2; p += stride * PAGE)
            (*p)++;
    return NULL;
}

static void say(void) {
    char line[200];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "RssAnon:", 8))
            printf("resident %ld\n", atol(line + 8));
    if (f)
        fclose(f);
}

int main(int n, char **words) {
    if (n != 4 || (bytes = strtoull(words[1], NULL, 10) << 20) == 0 || (stride = strtoull(words[2], NULL, 10)) == 0)
        return 2;
    end = time(NULL) + atol(words[3]) + 1;
    char *all = malloc(bytes);
    pthread_t other;
    if (!all || pthread_create(&other, NULL, use, all + bytes / 2))
        return 2;
    use(all);
    pthread_join(other, NULL);
    say();
    return 0;
}
