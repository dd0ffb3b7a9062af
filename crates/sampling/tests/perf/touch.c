/* Touches pages in a known way: the first third by a thread, the second by another thread (created by the first), the last by
   a child process. Prints who touched what; waits for a line on standard input first if asked to. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };
static unsigned char *block;
static size_t pages;

static void touch(int third)
{
    unsigned char *from = block + (size_t)third * pages * PAGE;
    for (size_t i = 0; i < pages; i++)
        from[i * PAGE] = 1;
    printf("%d %ld %p %zu\n", getpid(), (long)syscall(SYS_gettid), (void *)from, pages);
    fflush(stdout);
}

static void *second(void *unused)
{
    touch(1);
    return unused;
}

static void *first(void *unused)
{
    pthread_t other;
    touch(0);
    if (pthread_create(&other, NULL, second, NULL) != 0)
        abort();
    pthread_join(other, NULL);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pid_t child;
    pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    block = mmap(NULL, 3 * pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return 1;
    madvise(block, 3 * pages * PAGE, MADV_NOHUGEPAGE);
    if (argc > 2) {
        puts("ready");
        fflush(stdout);
        if (getchar() == EOF)
            return 2;
    }
    if (pthread_create(&thread, NULL, first, NULL) != 0)
        return 3;
    pthread_join(thread, NULL);
    child = fork();
    if (child == 0) {
        touch(2);
        _exit(0);
    }
    return waitpid(child, NULL, 0) == child ? 0 : 4;
}
