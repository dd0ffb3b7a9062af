/* The threads whose system calls are seen. */
#ifdef __x86_64__
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "os.h"
#include "protect.h"

#define ALTERNATE_BYTES 65536
#define DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH */
#define DISPATCH_ON 1

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

struct hnag_slot hnag_slots[HNAG_THREADS];
uint32_t hnag_slots_used;
TLS struct hnag_slot *hnag_slot;
static TLS uint32_t state_before_fork;

/* ---- beginning ----------------------------------------------------------------------------------------------------- */

static void release(struct hnag_slot *s) {
    s->state = HNAG_ALL;
    __atomic_store_n(&s->tid, 0, __ATOMIC_SEQ_CST);
}

/* A slot for a thread; nothing may be protected until it is seen to. */
static struct hnag_slot *take(uint32_t tid) {
    struct hnag_slot *found = NULL;
    hnag_gate_lock();
    for (uint32_t i = 0; i < HNAG_THREADS && (!found || i < hnag_slots_used); i++) {
        if (hnag_slots[i].tid == tid)
            release(&hnag_slots[i]); /* a thread that is gone had the same number */
        if (!found && !hnag_slots[i].tid)
            found = &hnag_slots[i];
    }
    if (found) {
        uint32_t at = (uint32_t)(found - hnag_slots);
        found->state = HNAG_ALL;
        found->selector = 0;
        found->creating = 0;
        found->odd_ip = 0;
        __atomic_store_n(&found->tid, tid, __ATOMIC_SEQ_CST);
        if (at >= hnag_slots_used)
            __atomic_store_n(&hnag_slots_used, at + 1, __ATOMIC_SEQ_CST);
    }
    hnag_gate_unlock();
    return found;
}

/* Our handlers run on a stack of their own, so that the program's may be protected (if it made it itself). */
static bool stack_for_signals(struct hnag_slot *s) {
    stack_t theirs, ours = {.ss_size = ALTERNATE_BYTES};
    if (os_failed(os(SYS_sigaltstack, 0, &theirs)))
        return false;
    if (!(theirs.ss_flags & SS_DISABLE)) {
        hnag_area_forget((uintptr_t)theirs.ss_sp, (uintptr_t)theirs.ss_sp + theirs.ss_size);
        return true;
    }
    if (!s->alternate) {
        long at = os(SYS_mmap, 0, ALTERNATE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (os_failed(at))
            return false;
        s->alternate = (void *)at;
    }
    ours.ss_sp = s->alternate;
    return !os_failed(os(SYS_sigaltstack, &ours, 0));
}

static bool begin(struct hnag_slot *s) {
    uint64_t ours = HNAG_OURS, sp = (uintptr_t)__builtin_frame_address(0), self = (uintptr_t)pthread_self();
    hnag_area_forget(sp, sp + 1);
    hnag_area_forget(self, self + 1);
    if (!stack_for_signals(s))
        return false;
    os(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, 0, sizeof ours);
    hnag_slot = s;
    return !os_failed(os(SYS_prctl, DISPATCH, DISPATCH_ON, __ehdr_start, _end - __ehdr_start, &s->selector));
}

void hnag_protect_thread(void) {
    if (!hnag_shared || hnag_protect_over)
        return;
    uint32_t tid = (uint32_t)os(SYS_gettid);
    if (hnag_slot && hnag_slot->tid == tid)
        return;
    struct hnag_slot *s = take(tid);
    if (!s || !begin(s))
        return hnag_protect_end(s ? WHY_KERNEL : WHY_MEMORY);
    s->selector = 1;
    __atomic_store_n(&s->state, HNAG_OUT, __ATOMIC_SEQ_CST);
}

/* A stack that the program gives to a thread must never be protected. */
void hnag_protect_creating(const pthread_attr_t *attributes) {
    void *stack = NULL;
    size_t bytes = 0;
    if (hnag_shared && hnag_slot)
        hnag_slot->creating = 1;
    if (hnag_shared && attributes && pthread_attr_getstack(attributes, &stack, &bytes) == 0 && stack)
        hnag_area_forget((uintptr_t)stack, (uintptr_t)stack + bytes);
}

/* The call that created a thread went unseen, and what came after it in the C library. The next one is seen again. */
void hnag_protect_created(void) {
    struct hnag_slot *s = hnag_slot;
    if (!hnag_shared || !s)
        return;
    s->creating = 0;
    if (hnag_protect_over || s->state != HNAG_UNTRACKED)
        return;
    s->selector = 1;
    __atomic_store_n(&s->state, HNAG_OUT, __ATOMIC_SEQ_CST);
}

/* ---- fork ---------------------------------------------------------------------------------------------------------- */

/* The child finds all memory whole and the gate free. */
void hnag_protect_before_fork(void) {
    if (!hnag_shared)
        return;
    if (hnag_slot) {
        state_before_fork = hnag_slot->state;
        hnag_enter_state(hnag_slot, HNAG_ALL);
        hnag_slot->selector = 0;
    }
    hnag_gate_lock();
    while (hnag_open_count) { /* of a thread that the agent does not know */
        hnag_gate_unlock();
        hnag_gate_close_all();
        hnag_gate_lock();
    }
}

void hnag_protect_after_fork(void) {
    if (!hnag_shared)
        return;
    hnag_gate_unlock();
    if ((uint32_t)os(SYS_getpid) != hnrt_pid) {
        hnag_protect_over = true;
        hnag_shared = NULL;
        hnag_slot = NULL;
        return hnag_signals_give_back();
    }
    if (!hnag_slot)
        return;
    if (state_before_fork == HNAG_UNTRACKED)
        state_before_fork = HNAG_OUT;
    hnag_slot->selector = !hnag_protect_over;
    __atomic_store_n(&hnag_slot->state, state_before_fork, __ATOMIC_SEQ_CST);
}

/* ---- looking after them (window thread) ---------------------------------------------------------------------------- */

/* /proc/self/stat from the process's state on; bytes, 0 if it cannot be read. */
static long read_stat(char *text, long room) {
    long fd = os(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    if (os_failed(fd))
        return 0;
    long got = os(SYS_read, fd, text, room), at = got;
    os(SYS_close, fd);
    while (at > 0 && text[at - 1] != ')')
        at--;
    if (at <= 0 || at + 1 >= got)
        return 0;
    for (long i = at + 1; i < got; i++)
        text[i - at - 1] = text[i];
    return got - at - 1;
}

/* The initial thread stays as a zombie until the others are gone. */
static bool is_zombie(void) {
    char text[512];
    return read_stat(text, sizeof text) && text[0] == 'Z';
}

static void look_at(struct hnag_slot *s, uint32_t tid) {
    bool leader = tid == hnrt_pid;
    if (!leader && os(SYS_tgkill, hnrt_pid, tid, 0) != -ESRCH)
        return;
    if (leader && !is_zombie())
        return;
    hnag_gate_lock();
    if (s->tid == tid && leader)
        s->state = HNAG_ZOMBIE;
    else if (s->tid == tid)
        release(s);
    hnag_gate_unlock();
}

void hnag_threads_look(void) {
    uint32_t n = __atomic_load_n(&hnag_slots_used, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < n; i++) {
        struct hnag_slot *s = &hnag_slots[i];
        uint32_t tid = __atomic_load_n(&s->tid, __ATOMIC_SEQ_CST);
        if (tid && __atomic_load_n(&s->state, __ATOMIC_SEQ_CST) == HNAG_EXITING)
            look_at(s, tid);
    }
}

/* Field 20 of stat: how many threads there are. The text begins with field 3. */
static uint64_t threads_now(void) {
    char text[512];
    long got = read_stat(text, sizeof text);
    uint64_t n = 0;
    unsigned field = 3;
    for (long i = 0; i < got && field <= 20; i++) {
        if (text[i] == ' ')
            field++;
        else if (field == 20)
            n = n * 10 + (uint64_t)(text[i] - '0');
    }
    return n;
}

/* Whether every thread but the window thread has a slot. */
bool hnag_threads_known(void) {
    uint64_t known = 1, n = __atomic_load_n(&hnag_slots_used, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < n; i++)
        known += __atomic_load_n(&hnag_slots[i].tid, __ATOMIC_SEQ_CST) != 0;
    return threads_now() == known;
}
#endif
