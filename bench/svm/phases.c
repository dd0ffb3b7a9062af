/* Preloaded into a workload that runs with pthreads: how long its first thread was in each phase, the innermost one having all of it,
 * as `homenode svm report` counts; with HN_PROCESSOR_TIME, how much processor time all threads took meanwhile. At the end a line `NAME SECONDS` a phase is appended to the file that HN_PHASES names. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 32

static struct phase {
    char name[64];
    double seconds;
} phases[MOST];
static int open_phases[MOST], depth, count;
static double since;

static double now(void) {
    struct timespec t;
    clock_gettime(getenv("HN_PROCESSOR_TIME") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int number_of(const char *name) {
    for (int i = 0; i < count; i++)
        if (!strcmp(phases[i].name, name))
            return i;
    if (count == MOST || strlen(name) >= sizeof phases[0].name) {
        fputs("phases: too many of them, or a name too long\n", stderr);
        _exit(1);
    }
    strcpy(phases[count].name, name);
    return count++;
}

static void account(void) {
    double t = now();
    if (depth > 0)
        phases[open_phases[depth - 1]].seconds += t - since;
    since = t;
}

static int is_first(void) {
    return gettid() == getpid();
}

void homenode_phase_begin(const char *name) {
    if (!is_first())
        return;
    account();
    if (depth == MOST) {
        fputs("phases: too deep\n", stderr);
        _exit(1);
    }
    open_phases[depth++] = number_of(name);
}

void homenode_phase_end(const char *name) {
    (void)name;
    if (!is_first() || depth == 0)
        return;
    account();
    depth--;
}

__attribute__((destructor)) static void say(void) {
    const char *path = getenv("HN_PHASES");
    FILE *file = path ? fopen(path, "a") : NULL;
    for (int i = 0; file && i < count; i++)
        fprintf(file, "%s %.9f\n", phases[i].name, phases[i].seconds);
    if (file && fclose(file))
        perror("phases");
}
