/* Processes: fork with threads and locks about, fork in a forked child, vfork, exec, system. */
#include "expect.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t cells[64];
static int stop;
static long contended;

static NOINLINE void sequence(uint32_t from, uint32_t n) {
    for (uint32_t i = from; i < from + n; i++) {
        cells[i * 7 % 64] = i;
        FENCE();
    }
}

static void *hammer(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        __atomic_fetch_add(&contended, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void child(void) {
    sequence(0, 1000);
    __atomic_fetch_add(&contended, 1, __ATOMIC_SEQ_CST); /* its lock may have been held by a thread that is not here */
    pid_t grandchild = fork();
    if (grandchild == 0) {
        sequence(0, 500);
        _exit(0);
    }
    waitpid(grandchild, NULL, 0);
    exit(0);
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc > 1) { /* executed by ourselves */
        sequence(0, 77);
        return 0;
    }
    pthread_create(&thread, NULL, hammer, NULL);
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0)
            child();
        waitpid(pid, NULL, 0);
    }
    pid_t pid = vfork();
    if (pid == 0) {
        execl(argv[0], argv[0], "executed", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
    pid = vfork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    if (system("true"))
        return 1;
    homenode_phase_begin("after");
    sequence(0, 300);
    homenode_phase_end("after");
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    printf("%#lx\n", (unsigned long)cells);
    return 0;
}
