/* Each thread is bound to one processor, and the heap of each node has a memory node: status 0. */
#define _GNU_SOURCE
#include <homenode.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what) {
    fprintf(stderr, "thread %u: %s\n", homenode_thread(), what);
    exit(3);
}

static void work(void *name) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) != 1)
        fail("bound to no processor");
    homenode_barrier(name, homenode_svm_threads());
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    char line[1024];
    bool placed = !maps; /* a kernel without memory nodes */
    while (maps && fgets(line, sizeof line, maps))
        placed |= !strncmp(line, "200000000000 prefer", 19);
    if (maps)
        fclose(maps);
    if (!placed)
        fail("a heap without a memory node");
}

int main(void) {
    void *name = homenode_shared_alloc(1);
    for (unsigned t = 1; t < homenode_svm_threads(); t++)
        homenode_create(work, name);
    work(name);
    homenode_join();
    return 0;
}
