/* What system calls may reach, for those that are common or that wait. All others count as reaching everything. */
#ifdef __x86_64__
#include <sys/syscall.h>

#include "protect.h"

/* A range: argument that points to it, bytes = each * (argument `by`, or 1 if that is negative). */
struct part {
    uint8_t pointer;
    int8_t by;
    uint16_t each;
    bool writes;
};
#define BUFFER(pointer, bytes, writes) {pointer, bytes, 1, writes}
#define FIXED(pointer, bytes, writes) {pointer, -1, bytes, writes}

struct call {
    bool known;
    uint8_t n;
    struct part part[3];
};
#define NONE {true, 0, {{0, 0, 0, false}}}

enum { ADDRESS = 128, CALLS = 512 };
static const struct call calls[CALLS] = {
    [SYS_read] = {true, 1, {BUFFER(1, 2, true)}},
    [SYS_write] = {true, 1, {BUFFER(1, 2, false)}},
    [SYS_pread64] = {true, 1, {BUFFER(1, 2, true)}},
    [SYS_pwrite64] = {true, 1, {BUFFER(1, 2, false)}},
    [SYS_recvfrom] = {true, 3, {BUFFER(1, 2, true), FIXED(4, ADDRESS, true), FIXED(5, 4, true)}},
    [SYS_sendto] = {true, 2, {BUFFER(1, 2, false), FIXED(4, ADDRESS, false)}},
    [SYS_accept] = {true, 2, {FIXED(1, ADDRESS, true), FIXED(2, 4, true)}},
    [SYS_accept4] = {true, 2, {FIXED(1, ADDRESS, true), FIXED(2, 4, true)}},
    [SYS_futex] = {true, 3, {FIXED(0, 8, true), FIXED(3, 16, false), FIXED(4, 8, true)}},
    [SYS_poll] = {true, 1, {{0, 1, 8, true}}},
    [SYS_epoll_wait] = {true, 1, {{1, 2, 12, true}}},
    [SYS_epoll_ctl] = {true, 1, {FIXED(3, 12, false)}},
    [SYS_nanosleep] = {true, 2, {FIXED(0, 16, false), FIXED(1, 16, true)}},
    [SYS_clock_nanosleep] = {true, 2, {FIXED(2, 16, false), FIXED(3, 16, true)}},
    [SYS_clock_gettime] = {true, 1, {FIXED(1, 16, true)}},
    [SYS_gettimeofday] = {true, 2, {FIXED(0, 16, true), FIXED(1, 8, true)}},
    [SYS_wait4] = {true, 2, {FIXED(1, 4, true), FIXED(3, 144, true)}},
    [SYS_getrandom] = {true, 1, {BUFFER(0, 1, true)}},
    [SYS_getrusage] = {true, 1, {FIXED(1, 144, true)}},
    [SYS_fstat] = {true, 1, {FIXED(1, 144, true)}},
    [SYS_sched_setaffinity] = {true, 1, {BUFFER(2, 1, false)}},
    [SYS_sched_getaffinity] = {true, 1, {BUFFER(2, 1, true)}},
    [SYS_sched_yield] = NONE,
    [SYS_close] = NONE,
    [SYS_lseek] = NONE,
    [SYS_getpid] = NONE,
    [SYS_gettid] = NONE,
    [SYS_getppid] = NONE,
    [SYS_dup] = NONE,
    [SYS_dup2] = NONE,
    [SYS_fsync] = NONE,
    [SYS_fdatasync] = NONE,
    [SYS_ftruncate] = NONE,
    [SYS_socket] = NONE,
    [SYS_listen] = NONE,
    [SYS_shutdown] = NONE,
    [SYS_kill] = NONE,
    [SYS_tkill] = NONE,
    [SYS_tgkill] = NONE,
    [SYS_alarm] = NONE,
    [SYS_pause] = NONE,
    [SYS_eventfd2] = NONE,
    [SYS_epoll_create1] = NONE,
    [SYS_membarrier] = NONE,
    [SYS_brk] = NONE,
};

int hnag_call_reach(long nr, const uint64_t *argument, struct hnag_reach *r, unsigned *writes) {
    if (nr < 0 || nr >= CALLS || !calls[nr].known)
        return -1;
    const struct call *c = &calls[nr];
    *writes = 0;
    for (unsigned i = 0; i < c->n; i++) {
        const struct part *p = &c->part[i];
        uint64_t bytes = p->each, lo = argument[p->pointer];
        if (p->by >= 0 && __builtin_mul_overflow(bytes, argument[p->by], &bytes))
            return -1;
        r[i].lo = lo;
        if (__builtin_add_overflow(lo, bytes, &r[i].hi))
            return -1;
        *writes |= (unsigned)p->writes << i;
    }
    return c->n;
}
#endif
