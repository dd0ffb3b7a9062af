/* Threads of a program that was not compiled for us: their paths, their stacks, and forks. */
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "os.h"
#include "real.h"
#include "agent.h"

/* The child's path is its parent's and the number of children the parent had. The stack's size is asked for here
 * because pthread_getattr_np would allocate. */
void hnrt_at_announce(struct hn_thread *parent, struct hn_thread *child, const pthread_attr_t *attributes) {
    pthread_attr_t standard;
    if (parent) {
        child->own.path = parent->own.path ? hnag_fnv(parent->own.path, parent->own.children, 4) : 0;
        child->own.created_pinned = parent->own.pinned;
        parent->own.children++;
    }
    hnag_protect_creating(attributes);
    if (attributes) {
        pthread_attr_getstacksize(attributes, &child->own.stack_bytes);
    } else if (pthread_attr_init(&standard) == 0) {
        pthread_attr_getstacksize(&standard, &child->own.stack_bytes);
        pthread_attr_destroy(&standard);
    }
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

/* The file name of the program is the last thing on the initial stack. */
static uint64_t initial_top(void) {
    const char *name = (const char *)getauxval(AT_EXECFN);
    if (!name)
        return ((uintptr_t)__builtin_frame_address(0) | (HNAG_PAGE - 1)) + 1;
    while (*name)
        name++;
    return ((uintptr_t)name + 8 + HNAG_PAGE) & ~(HNAG_PAGE - 1);
}

static uint64_t initial_bytes(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > UINT64_C(1) << 32)
        return 8 << 20;
    return limit.rlim_cur & ~(HNAG_PAGE - 1);
}

/* The C library keeps its description of a thread at the upper end of its stack. */
static void stack_range(const struct hn_thread *t, uint64_t *lo, uint64_t *hi) {
    enum { DESCRIPTION = 2304 };
    if (t->own.path == HNAG_PATH_INITIAL) {
        *hi = initial_top();
        *lo = *hi - initial_bytes();
        return;
    }
    *hi = ((uintptr_t)pthread_self() + DESCRIPTION + HNAG_PAGE - 1) & ~(HNAG_PAGE - 1);
    *lo = t->own.stack_bytes && t->own.stack_bytes < *hi ? (*hi - t->own.stack_bytes) & ~(HNAG_PAGE - 1) : *hi;
}

/* First events of a thread, and what the plan has for it. */
void hnrt_thread_began(struct hn_thread *t) {
    uint64_t lo, hi;
    t->guard++;
    stack_range(t, &lo, &hi);
    uintptr_t start = t->start ? (uintptr_t)t->start : (uintptr_t)t->start_c11;
    if (t->recording && lo < hi)
        hnrt_event_stack(t, (void *)lo, hi - lo, HNAG_STACK, &start, 1);
    if (hnag_planning)
        hnag_plan_thread(t, lo, hi);
    hnag_protect_thread();
    t->guard--;
}

int hnrt_acquired(int failed, const volatile void *object, uint64_t sync) {
    struct hn_thread *t = failed ? NULL : hnrt_recording();
    if (t)
        hnrt_acquire(t, object, 0, sync);
    return failed;
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* The child must find every table whole. Nothing allocates between here and hnrt_at_forked. */
void hnrt_at_fork(void) {
    hnag_modules_lock();
    hnag_registry_lock();
    hnag_protect_before_fork();
}

void hnrt_at_forked(void) {
    hnag_protect_after_fork();
    hnag_registry_unlock();
    hnag_modules_unlock();
}
