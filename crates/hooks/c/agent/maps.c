/* Files of /proc and /sys, and the mappings of this process, read without the C library's buffers. */
#include <fcntl.h>
#include <sys/mman.h>

#include "os.h"
#include "plan.h"

static long open_file(const char *path) {
    return os(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

/* The number that a file begins with. */
uint64_t hnag_read_number(const char *path, uint64_t otherwise) {
    char text[32];
    long fd = open_file(path), got = os_failed(fd) ? -1 : os(SYS_read, fd, text, sizeof text - 1);
    if (!os_failed(fd))
        os(SYS_close, fd);
    if (got <= 0 || text[0] < '0' || text[0] > '9')
        return otherwise;
    uint64_t n = 0;
    for (long i = 0; i < got && text[i] >= '0' && text[i] <= '9' && n < UINT64_MAX / 20; i++)
        n = n * 10 + (uint64_t)(text[i] - '0');
    return n;
}

static long fill(long fd, char *to, long room) {
    long all = 0, got;
    while (all < room && (got = os(SYS_read, fd, to + all, room - all)) > 0)
        all += got;
    return all;
}

/* A whole regular file, at most 1 GiB, in memory that is never given back; bytes, or a negative error number. */
long hnag_read_file(const char *path, char **text) {
    long fd = open_file(path);
    if (os_failed(fd))
        return fd;
    long bytes = os(SYS_lseek, fd, 0, 2);
    os(SYS_lseek, fd, 0, 0);
    long at = -27; /* EFBIG */
    if (!os_failed(bytes) && bytes <= 1 << 30)
        at = os(SYS_mmap, 0, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long got = os_failed(at) ? at : fill(fd, (char *)at, bytes);
    os(SYS_close, fd);
    *text = os_failed(at) ? NULL : (char *)at;
    return got;
}

/* ---- mappings ---------------------------------------------------------------------------------------------------- */

struct line {
    uint64_t lo, hi;
    unsigned field; /* 0: first address, 1: second, 2: the rest */
};

/* Takes one character; true at the end of a line. */
static bool take(struct line *l, char c) {
    if (c == '\n')
        return true;
    if (l->field > 1)
        return false;
    uint64_t *n = l->field ? &l->hi : &l->lo;
    if (c == '-' || c == ' ')
        l->field++;
    else
        *n = *n << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    return false;
}

/* Visits the mappings in rising order until `visit` says false; returns how many there are, 0 if that is unknown. */
uint64_t hnag_maps_each(bool (*visit)(uint64_t lo, uint64_t hi, void *context), void *context) {
    char text[4096];
    long fd = open_file("/proc/self/maps"), got;
    if (os_failed(fd))
        return 0;
    uint64_t n = 0;
    bool going = true;
    struct line l = {0};
    while ((got = os(SYS_read, fd, text, sizeof text)) > 0)
        for (long i = 0; i < got; i++) {
            if (!take(&l, text[i]))
                continue;
            n++;
            if (going && visit)
                going = visit(l.lo, l.hi, context);
            l = (struct line){0};
        }
    os(SYS_close, fd);
    return n;
}
