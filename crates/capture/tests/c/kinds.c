/* One program that ends, forks, execs and crashes in every way; what it touches is known to tests/programs.rs. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

double table[4096];
static long counters[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void fill(double *to, long n, double with) {
    for (long i = 0; i < n; i++)
        to[i] = with; /* line: fill */
}

static void *worker(void *argument) {
    long id = (long)argument;
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        counters[id % 8]++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void run_threads(long n) {
    pthread_t *thread = malloc(n * sizeof *thread);
    for (long i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, worker, (void *)i))
            abort();
    for (long i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    free(thread);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    fill(table, 4096, 1.5);
    if (!strcmp(what, "threads")) {
        run_threads(atol(argv[2]));
    } else if (!strcmp(what, "waves")) {
        for (int i = 0; i < 50; i++)
            run_threads(4);
    } else if (!strcmp(what, "heap")) {
        double *grid = malloc(1000 * sizeof *grid); /* line: heap */
        fill(grid, 1000, 2.5);
        printf("%g\n", grid[argc]);
        free(grid);
    } else if (!strcmp(what, "orphan")) {
        if (fork() == 0) {
            usleep(300000); /* the parent is long gone */
            fill(table, 2048, 3.5);
            return 5;
        }
    } else if (!strcmp(what, "fork")) {
        pid_t child = fork();
        fill(table, 100, 4.5);
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    } else if (!strcmp(what, "exec")) {
        execl(argv[0], argv[0], "heap", (char *)NULL);
    } else if (!strcmp(what, "segv")) {
        *(volatile int *)8 = 1;
    } else if (!strcmp(what, "abort")) {
        abort();
    } else if (!strcmp(what, "exit")) {
        _exit(3);
    } else if (!strcmp(what, "kill")) {
        raise(SIGKILL);
    }
    return 0;
}
