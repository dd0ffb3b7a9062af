/* Writes a known sequence of REFS references, and ends in the way it is told to. */
#include "expect.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REFS 200000
static uint32_t cells[64];

static NOINLINE void sequence(void) {
    for (uint32_t i = 0; i < REFS; i++) {
        cells[i * 7 % 64] = i;
        FENCE();
    }
}

/* Goes on until it is killed, and notes after each write, in a file that survives it, how many there are. */
static NOINLINE void endless(uint32_t i) {
    cells[i * 7 % 64] = i;
    FENCE();
}

UNRECORDED static void until_killed(const char *path) {
    int fd = open(path, O_RDWR);
    volatile uint32_t *written = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (uint32_t i = 0;; *written = ++i)
        endless(i);
}

UNRECORDED static void say(void) {
    printf("%#lx %d\n", (unsigned long)cells, getpid());
    fflush(stdout);
}

static void *forever(void *unused) {
    sequence();
    for (;;)
        pause();
    return unused;
}

static void *run(void *unused) {
    sequence();
    return unused;
}

static jmp_buf after_abort;
static void jump(int number) {
    siglongjmp(after_abort, number);
}

/* Survives one abort, makes the sequence, and ends by the next. */
static void abort_twice(void) {
    if (!sigsetjmp(after_abort, 1)) {
        signal(SIGABRT, jump);
        abort();
    }
    signal(SIGABRT, SIG_DFL);
    sequence();
    abort();
}

static void with_thread(void *(*work)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    if (work == run)
        pthread_join(thread, NULL);
    else
        usleep(200000);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "return";
    say();
    if (!strcmp(how, "endless"))
        until_killed(argv[2]);
    if (!strcmp(how, "abort twice"))
        abort_twice();
    sequence();
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "_exit"))
        _exit(0);
    if (!strcmp(how, "_Exit"))
        _Exit(0);
    if (!strcmp(how, "quick_exit"))
        quick_exit(0);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "crash"))
        raise(SIGSEGV);
    if (!strcmp(how, "pthread_exit"))
        pthread_exit(NULL);
    if (!strcmp(how, "thread"))
        with_thread(run);
    if (!strcmp(how, "running"))
        with_thread(forever);
    return 0;
}
