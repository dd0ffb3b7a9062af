/* fork: the child gets rings of its own and drops the parent's at once. vfork needs nothing: its child borrows the
 * parent's thread until it executes another program or ends, and the process id tells (see exit.c). */
#include "real.h"
#include "runtime.h"

#include "os.h"

static TLS uint32_t child_index = HN_NO_PARENT; /* threads may fork at the same time */

/* Runs after the program's own preparations. References between here and the child's ring belong to nobody: other
 * handlers may run in the child before ours, on a ring that it shares with the parent. */
static void before_fork(void) {
    struct hn_thread *t = hnrt_self;
    hnrt_at_fork();
    if (!t)
        return;
    child_index = HN_NO_PARENT;
    if (t->recording && hnrt_shared_ranges)
        hnrt_shared_announce(t);
    if (t->recording && (child_index = hnrt_ring_claim(t->index)) != HN_NO_PARENT)
        hnrt_event(t, HN_EVENT_SPAWN, child_index, os_stamp());
    if (!hnrt_to_real(t))
        return;
    hnrt_settle(t);
    hnrt_flush(t);
    t->purpose = FOR_DROPPED;
    hnrt_ring = &t->scratch.ring;
}

static void in_parent(void) {
    hnrt_at_forked();
    if (hnrt_self)
        hnrt_route(hnrt_self);
}

static void in_child(void) {
    struct hn_thread *t = hnrt_self;
    hnrt_at_forked();
    if (!t)
        return;
    hnrt_parent_pid = hnrt_pid;
    hnrt_pid = (uint32_t)os(SYS_getpid);
    hnrt_at_forked_child(t);
    hnrt_threaded = false;
    hnrt_threads_after_fork();
    hnrt_order_after_fork();
    hnrt_shared_after_fork();
    hnrt_modules_forget();
    t->held = t->taking = NULL;
    if (!hnrt_attached)
        return hnrt_route(t);
    __atomic_fetch_add(CONTROL32(HN_CONTROL_OFF_ATTACHED), 1, __ATOMIC_RELAXED);
    if (child_index != HN_NO_PARENT) {
        *(uint32_t *)(hnrt_entry(child_index) + HN_ENTRY_OFF_PID) = hnrt_pid;
        t->ended = false;
        hnrt_thread_give_ring(t, child_index);
    }
    hnrt_thread_enter(t);
    hnrt_process_begin(t);
}

void hnrt_fork_init(void) {
    pthread_atfork(before_fork, in_parent, in_child);
}

/* Forks without the handlers of pthread_atfork. */
INTERPOSE pid_t _Fork(void) {
    before_fork();
    pid_t pid = REAL(_Fork)();
    if (pid == 0)
        in_child();
    else
        in_parent();
    return pid;
}
