/* Children that forbid themselves what recording takes. `confined tsc`, `confined strict`: the status says whether the child lived. */
#include "expect.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t cells[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void sequence(uint32_t from, uint32_t n) {
    for (uint32_t i = from; i < from + n; i++) {
        cells[i * 7 % 64] = i;
        FENCE();
    }
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void *more(void *unused) {
    sequence(1000, 500000);
    return unused;
}

static void without_clock(void) {
    pthread_t thread;
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    more(NULL);
    if (pthread_create(&thread, NULL, more, NULL) || pthread_join(thread, NULL))
        _exit(1);
    pid_t grandchild = fork();
    int status;
    if (grandchild == 0) {
        more(NULL);
        _exit(0);
    }
    if (waitpid(grandchild, &status, 0) != grandchild || status)
        _exit(1);
    _exit(0);
}

static void without_calls(void) {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    more(NULL);
    syscall(SYS_exit, 0);
}

int main(int argc, char **argv) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        sequence(0, 1000);
        if (argc > 1 && argv[1][0] == 't')
            without_clock();
        without_calls();
    }
    printf("%#zx\n", (size_t)cells);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
