/* Do NUMA-hinting faults go on after an action, and does the kernel move the pages again? hinting ACTION HOME USER SECONDS:
 * a region that the initial thread touched first on node 0 is acted upon towards node HOME, then one thread on processor
 * USER uses every page again and again. Prints page faults of that thread a second and pages a node.
 * ACTION: none, bind, bindmof, preferred, prefmof, many, manymof, move. Shares nothing with Homenode. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 2000, PAGE = 4096, NODES = 64 };
enum { PREFERRED = 1, BIND = 2, PREFERRED_MANY = 5, WITH_BALANCING = 1 << 13, MOVE = 2 };

static volatile char *region;
static int seconds, user;
static long faults;

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        fail("sched_setaffinity");
}

static long minor_faults(void) {
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    return u.ru_minflt;
}

static void *use(void *arg) {
    pin(user);
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    long before = 0, rounds = 0;
    do {
        for (int i = 0; i < PAGES; i++)
            region[(long)i * PAGE + rounds % 64] += 1;
        /* The first round may fault for other reasons: copies of the zero page, pages unmapped by a move. */
        if (rounds++ == 0)
            before = minor_faults();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    faults = minor_faults() - before;
    return arg;
}

static void act(const char *action, int home) {
    static const struct { const char *name; int mode; } policies[] = {
        {"bind", BIND},           {"bindmof", BIND | WITH_BALANCING},
        {"preferred", PREFERRED}, {"prefmof", PREFERRED | WITH_BALANCING},
        {"many", PREFERRED_MANY}, {"manymof", PREFERRED_MANY | WITH_BALANCING},
    };
    unsigned long mask = 1ul << home;
    for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++)
        if (!strcmp(action, policies[i].name)) {
            if (syscall(SYS_mbind, region, (long)PAGES * PAGE, policies[i].mode, &mask, NODES, MOVE)) {
                perror(action);
                exit(3);
            }
            return;
        }
    static void *pages[PAGES];
    static int nodes[PAGES], status[PAGES];
    for (int i = 0; i < PAGES; i++)
        pages[i] = (char *)region + (long)i * PAGE, nodes[i] = home;
    if (!strcmp(action, "move") && syscall(SYS_move_pages, 0, (long)PAGES, pages, nodes, status, MOVE) < 0)
        fail("move_pages");
}

static void print_nodes(const char *when) {
    static void *pages[PAGES];
    static int status[PAGES];
    long count[NODES] = {0};
    for (int i = 0; i < PAGES; i++)
        pages[i] = (char *)region + (long)i * PAGE;
    if (syscall(SYS_move_pages, 0, (long)PAGES, pages, NULL, status, 0) < 0)
        fail("move_pages");
    for (int i = 0; i < PAGES; i++)
        count[status[i] >= 0 && status[i] < NODES ? status[i] : NODES - 1]++;
    printf(" %s", when);
    for (int n = 0; n < NODES; n++)
        if (count[n])
            printf(" n%d=%ld", n, count[n]);
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    user = atoi(argv[3]), seconds = atoi(argv[4]);
    pin(0);
    region = mmap(NULL, (long)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        fail("mmap");
    madvise((void *)region, (long)PAGES * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES; i++)
        region[(long)i * PAGE] = 1;
    act(argv[1], atoi(argv[2]));
    printf("%s home %s user %s:", argv[1], argv[2], argv[3]);
    print_nodes("before");
    pthread_t thread;
    if (pthread_create(&thread, NULL, use, NULL))
        fail("pthread_create");
    pthread_join(thread, NULL);
    printf(" faults/s %ld", faults / seconds);
    print_nodes("after");
    putchar('\n');
    return 0;
}
