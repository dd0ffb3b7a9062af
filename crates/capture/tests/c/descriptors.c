/* Closes a descriptor and opens the next one, which must get its number and keep it; for a few milliseconds, and then begins
 * anew as often as said. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    int low = open("/dev/null", O_WRONLY | O_CLOEXEC), other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (double end = now() + 0.004; now() < end;) {
        close(low);
        int next = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (next != low)
            return printf("%d instead of %d\n", next, low), 0;
        close(low);
        if (dup3(other, low, O_CLOEXEC) != low || fcntl(low, F_GETFD) < 0)
            return printf("%d is gone\n", low), 0;
    }
    char times[32];
    snprintf(times, sizeof times, "%ld", atol(argv[argc - 1]) - 1);
    if (atol(times) > 0)
        execl("/proc/self/exe", argv[0], times, (char *)NULL);
    printf("ok\n");
    return 0;
}
