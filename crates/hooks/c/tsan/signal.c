/* Signal handlers of the program run through a trampoline that turns the thread's references to a second scratch
 * ring: a handler may interrupt the runtime itself between any two instructions, so what it does is counted and not
 * recorded. A longjmp out of a handler ends it too. */
#include "real.h"
#include "runtime.h"

#define SIGNALS 65
#define WITH_INFO (UINT64_C(1) << 63)

/* What the program installed: handler and whether it takes three arguments, in one word, so that the trampoline
 * reads both at once. */
static uint64_t handlers[SIGNALS];

/* ---- entering and leaving ---------------------------------------------------------------------------------------- */

static void enter(struct hn_thread *t, struct hn_signal_frame *f) {
    f->outer = t->signal;
    f->depth = t->depth;
    f->depth_floor = t->depth_floor;
    f->spin = t->spin;
    t->signal = f;
    t->recording = false;
    t->depth_floor = t->depth;
    hnrt_ring = &t->in_signal.ring;
}

static void leave(struct hn_thread *t) {
    struct hn_signal_frame *f = t->signal;
    t->signal = f->outer;
    t->depth = f->depth;
    t->depth_floor = f->depth_floor;
    t->spin = f->spin;
    hnrt_route(t);
}

static void trampoline(int number, siginfo_t *info, void *context) {
    uint64_t word = __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE);
    void *handler = (void *)(word & ~WITH_INFO);
    struct hn_thread *t = hnrt_self;
    struct hn_signal_frame frame;
    if (!handler)
        return;
    if (t)
        enter(t, &frame);
    if (word & WITH_INFO)
        ((void (*)(int, siginfo_t *, void *))handler)(number, info, context);
    else
        ((void (*)(int))handler)(number);
    if (t)
        leave(t);
}

/* ---- installing -------------------------------------------------------------------------------------------------- */

static bool is_function(const struct sigaction *a) {
    return (a->sa_flags & SA_SIGINFO) || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

static uint64_t word_of(const struct sigaction *a) {
    if (a->sa_flags & SA_SIGINFO)
        return (uintptr_t)a->sa_sigaction | WITH_INFO;
    return (uintptr_t)a->sa_handler;
}

/* Shows the program what it installed, not our trampoline. */
static void translate(struct sigaction *old, uint64_t word) {
    if (!(old->sa_flags & SA_SIGINFO) || old->sa_sigaction != trampoline)
        return;
    if (word & WITH_INFO) {
        old->sa_sigaction = (void (*)(int, siginfo_t *, void *))(word & ~WITH_INFO);
    } else {
        old->sa_flags &= ~SA_SIGINFO;
        old->sa_handler = (void (*)(int))word;
    }
}

static int install(int number, const struct sigaction *wanted, struct sigaction *old) {
    uint64_t before = __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE);
    struct sigaction ours;
    if (wanted && is_function(wanted)) {
        ours = *wanted;
        ours.sa_flags |= SA_SIGINFO;
        ours.sa_sigaction = trampoline;
        __atomic_store_n(&handlers[number], word_of(wanted), __ATOMIC_RELEASE);
        wanted = &ours;
    }
    int failed = REAL(sigaction)(number, wanted, old);
    if (failed)
        __atomic_store_n(&handlers[number], before, __ATOMIC_RELEASE);
    else if (old)
        translate(old, before);
    return failed;
}

INTERPOSE int sigaction(int number, const struct sigaction *wanted, struct sigaction *old) {
    if (number <= 0 || number >= SIGNALS)
        return REAL(sigaction)(number, wanted, old);
    return install(number, wanted, old);
}

/* BSD semantics, as in glibc. */
INTERPOSE sighandler_t signal(int number, sighandler_t handler) {
    struct sigaction wanted = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigemptyset(&wanted.sa_mask);
    sigaddset(&wanted.sa_mask, number);
    if (sigaction(number, &wanted, &old) != 0)
        return SIG_ERR;
    return old.sa_handler;
}

/* ---- jumping out ------------------------------------------------------------------------------------------------- */

/* Stack pointer that a jmp_buf leads to. glibc hides it by an xor with a secret of the thread and (x86-64) a
 * rotation. */
static uintptr_t target_of(const struct __jmp_buf_tag *to) {
#if defined(__x86_64__)
    uintptr_t sp = (uintptr_t)to->__jmpbuf[6], secret;
    __asm__("mov %%fs:0x30, %0" : "=r"(secret));
    return (sp >> 17 | sp << 47) ^ secret;
#else
    (void)to;
    return UINTPTR_MAX; /* taken to leave all handlers */
#endif
}

/* Leaves the handlers whose frames the jump skips: a target between here and the trampoline stays inside the
 * handler. */
static void before_jump(const struct __jmp_buf_tag *to) {
    struct hn_thread *t = hnrt_self;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), target = target_of(to);
    if (!t || !t->signal)
        return;
    while (t->signal && !(target >= here && target < (uintptr_t)t->signal))
        leave(t);
    if (!t->signal)
        hnrt_abandoned(t);
}

INTERPOSE void longjmp(jmp_buf to, int value) {
    before_jump(to);
    REAL(longjmp)(to, value);
    __builtin_unreachable();
}

INTERPOSE void _longjmp(jmp_buf to, int value) {
    before_jump(to);
    REAL(longjmp)(to, value);
    __builtin_unreachable();
}

INTERPOSE void siglongjmp(sigjmp_buf to, int value) {
    before_jump(to);
    REAL(siglongjmp)(to, value);
    __builtin_unreachable();
}

INTERPOSE void __longjmp_chk(jmp_buf to, int value) {
    before_jump(to);
    REAL(__longjmp_chk)(to, value);
    __builtin_unreachable();
}
