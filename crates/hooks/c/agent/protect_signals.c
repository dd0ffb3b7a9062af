/* SIGSEGV and SIGSYS are ours; the program has actions for them all the same, which are kept here and carried out for
 * signals that are its own. */
#ifdef __x86_64__
#include <errno.h>
#include <ucontext.h>

#include "os.h"
#include "protect.h"

#define RESTORER UINT64_C(0x04000000)
#define SIGNALS 64

static struct hnag_action theirs[2]; /* of SIGSEGV, SIGSYS; under the gate */

static struct hnag_action *kept(int signal) {
    return &theirs[signal == SIGSYS];
}

static bool is_function(const struct hnag_action *a) {
    return (uintptr_t)a->handler > 1;
}

static long action(int signal, const struct hnag_action *act, struct hnag_action *old) {
    return os(SYS_rt_sigaction, signal, act, old, sizeof act->mask);
}

/* During ours nothing interrupts, except that reading the program's memory may fault. */
static void install(int signal, void (*handler)(int, siginfo_t *, void *), uint64_t mask) {
    struct hnag_action ours = {handler, SA_SIGINFO | SA_ONSTACK | RESTORER, (void *)hnag_restorer, mask};
    action(signal, &ours, kept(signal));
}

void hnag_signals_init(void) {
    install(SIGSEGV, hnag_on_fault, UINT64_MAX);
    install(SIGSYS, hnag_on_call, ~HNAG_BIT(SIGSEGV));
    for (int i = 1; i <= SIGNALS; i++) {
        struct hnag_action a;
        if (i == SIGSEGV || i == SIGSYS || os_failed(action(i, NULL, &a)) || !is_function(&a) || !(a.mask & HNAG_OURS))
            continue;
        a.mask &= ~HNAG_OURS;
        action(i, &a, NULL);
    }
}

/* In a forked child, which is not sampled. */
void hnag_signals_give_back(void) {
    action(SIGSEGV, kept(SIGSEGV), NULL);
    action(SIGSYS, kept(SIGSYS), NULL);
}

/* sigaction(2) of the program. */
long hnag_signals_change(int signal, const struct hnag_action *act, struct hnag_action *old) {
    if (signal != SIGSEGV && signal != SIGSYS) {
        struct hnag_action copy;
        if (act) {
            copy = *act;
            copy.mask &= ~HNAG_OURS;
        }
        return action(signal, act ? &copy : NULL, old);
    }
    hnag_gate_lock();
    *old = *kept(signal);
    if (act)
        *kept(signal) = *act;
    hnag_gate_unlock();
    return 0;
}

/* ---- signals that are the program's -------------------------------------------------------------------------------- */

static void default_action(int signal, siginfo_t *info) {
    struct hnag_action standard = {0};
    action(signal, &standard, NULL);
    /* An instruction that faults does it again when we return; a signal that was sent is sent again. */
    if (info->si_code <= 0)
        os(SYS_rt_tgsigqueueinfo, os(SYS_getpid), os(SYS_gettid), signal, info);
}

void hnag_signals_pass(int signal, siginfo_t *info, void *context) {
    hnag_gate_lock();
    struct hnag_action a = *kept(signal);
    if (a.flags & SA_RESETHAND)
        *kept(signal) = (struct hnag_action){0};
    hnag_gate_unlock();
    if (!is_function(&a)) {
        if (a.handler && info->si_code <= 0)
            return; /* ignored */
        return default_action(signal, info);
    }
    uint64_t mask = *(uint64_t *)&((ucontext_t *)context)->uc_sigmask | a.mask;
    mask &= ~HNAG_OURS;
    os(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof mask);
    a.handler(signal, info, context);
}
#endif
