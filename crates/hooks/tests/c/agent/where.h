/* Where memory is, as the kernel says: policies (one node suffices) or, with WHERE=nodes, pages. One line an object:
 * NAME ADDRESS BYTES RUN RUN ..., a run being WHAT*PAGES. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDE(x) __asm__ volatile("" : "+r"(x))
#define NOINLINE __attribute__((noinline))

static void policy_of(uintptr_t page, char *out) {
    static const char modes[] = "dpbilmw";
    int mode = -1;
    unsigned long nodes[16] = {0};
    long failed = syscall(SYS_get_mempolicy, &mode, nodes, 1025, page, 2 /* MPOL_F_ADDR */);
    int node = 0;
    while (node < 63 && !(nodes[0] >> node & 1))
        node++;
    mode &= 0xff;
    if (failed)
        strcpy(out, "?");
    else if (mode == 0)
        strcpy(out, "d");
    else
        sprintf(out, "%c%d", modes[mode], node);
}

static void node_of(uintptr_t page, char *out) {
    void *pages[1] = {(void *)page};
    int status[1] = {-1};
    *(volatile char *)page = *(volatile char *)page;
    syscall(SYS_move_pages, 0, 1ul, pages, NULL, status, 0);
    sprintf(out, "%d", status[0]);
}

/* Nothing here allocates. */
__attribute__((unused)) static void where(const char *name, void *object, size_t bytes) {
    const char *how = getenv("WHERE");
    int nodes = how && !strcmp(how, "nodes");
    char line[65536], last[16] = "", now[16];
    int used = sprintf(line, "%s %#lx %zu", name, (unsigned long)object, bytes);
    unsigned long run = 0;
    uintptr_t page = (uintptr_t)object & ~4095ul, end = (uintptr_t)object + bytes;
    for (; page < end; page += 4096) {
        (nodes ? node_of : policy_of)(page, now);
        if (run && strcmp(now, last)) {
            used += sprintf(line + used, " %s*%lu", last, run);
            run = 0;
        }
        strcpy(last, now);
        run++;
        if (used > 65000)
            abort();
    }
    used += sprintf(line + used, " %s*%lu\n", last, run);
    if (write(1, line, used) != used)
        abort();
}
