/* Small things that the guest programs share: messages, lists such as "0-2,5", nodes, pages, numbers. Shares nothing with
 * Homenode: these programs judge it. */
#ifndef TOOL_H
#define TOOL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define NODES_MAX 64
#define TOOL_MPOL_BIND 2
#define TOOL_MF_MOVE 2

/* A line of a regions file: "region NAME START BYTES TID": thread TID uses these bytes, so they belong on its node. */
struct region {
    char name[32];
    uintptr_t start;
    size_t bytes;
    int tid;
};

static inline _Noreturn void die(const char *what) {
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
    exit(2);
}

static inline _Noreturn void misuse(const char *usage) {
    fprintf(stderr, "usage: %s %s\n", program_invocation_short_name, usage);
    exit(2);
}

static inline uint64_t number(const char *text, const char *usage) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno || end == text || *end || text[0] == '-')
        misuse(usage);
    return value;
}

static inline void *need(void *memory) {
    if (!memory)
        die("memory");
    return memory;
}

static inline double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One step of SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* First line of a file of the kernel; false if it is not there. */
static inline bool first_line(const char *path, char *line, int size) {
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool ok = fgets(line, size, f) != NULL;
    fclose(f);
    return ok;
}

/* Calls visit for every number of a list such as "0-2,5". */
static inline void for_each(const char *list, void (*visit)(int, void *), void *context) {
    for (const char *at = list; *at >= '0' && *at <= '9';) {
        char *end;
        long from = strtol(at, &end, 10), to = from;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (long i = from; i <= to; i++)
            visit((int)i, context);
        at = *end == ',' ? end + 1 : end;
    }
}

/* Node of a processor, from /sys; -1 if unknown. */
static inline int node_of_cpu(int cpu) {
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d", cpu);
    DIR *folder = opendir(path);
    int node = -1;
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (sscanf(e->d_name, "node%d", &node) == 1)
            break;
    if (folder)
        closedir(folder);
    return node;
}

/* Where pages are (nodes NULL) or should go: one move_pages call. */
static inline long pages_call(int pid, unsigned long count, void **pages, const int *nodes, int *status) {
    return syscall(SYS_move_pages, pid, count, pages, nodes, status, TOOL_MF_MOVE);
}

/* Whole pages inside a region. */
static inline size_t whole_pages(uintptr_t start, size_t bytes, uintptr_t *first) {
    *first = (start + PAGE - 1) & ~(PAGE - 1);
    uintptr_t end = (start + bytes) & ~(PAGE - 1);
    return end > *first ? (end - *first) / PAGE : 0;
}

/* Reads a regions file; returns how many. */
static inline size_t read_regions(const char *path, struct region **list) {
    FILE *f = fopen(path, "re");
    size_t n = 0;
    if (!f)
        die(path);
    *list = NULL;
    for (struct region r; fscanf(f, "region %31s %" SCNxPTR " %zu %d\n", r.name, &r.start, &r.bytes, &r.tid) == 4;) {
        *list = need(realloc(*list, (n + 1) * sizeof r));
        (*list)[n++] = r;
    }
    if (!feof(f) || !n) {
        fprintf(stderr, "%s: %s is no regions file\n", program_invocation_short_name, path);
        exit(2);
    }
    fclose(f);
    return n;
}

#endif
