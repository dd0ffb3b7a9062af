/* Waiting for processes: whoever waited for one knows that its threads have ended. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "real.h"
#include "runtime.h"

static pid_t ended(pid_t pid, bool over) {
    int error = errno;
    struct hn_thread *t = pid > 0 && over ? hnrt_recording() : NULL;
    if (t)
        hnrt_event(t, HN_EVENT_WAITED, (uint32_t)pid, 0);
    errno = error;
    return pid;
}

static bool is_over(int status) {
    return WIFEXITED(status) || WIFSIGNALED(status);
}

INTERPOSE pid_t wait(int *status) {
    int own = 0;
    pid_t pid = REAL(wait)(&own);
    if (status && pid > 0)
        *status = own;
    return ended(pid, is_over(own));
}

INTERPOSE pid_t waitpid(pid_t which, int *status, int options) {
    int own = 0;
    pid_t pid = REAL(waitpid)(which, &own, options);
    if (status && pid > 0)
        *status = own;
    return ended(pid, is_over(own));
}

INTERPOSE pid_t wait3(int *status, int options, struct rusage *usage) {
    int own = 0;
    pid_t pid = REAL(wait3)(&own, options, usage);
    if (status && pid > 0)
        *status = own;
    return ended(pid, is_over(own));
}

INTERPOSE pid_t wait4(pid_t which, int *status, int options, struct rusage *usage) {
    int own = 0;
    pid_t pid = REAL(wait4)(which, &own, options, usage);
    if (status && pid > 0)
        *status = own;
    return ended(pid, is_over(own));
}

INTERPOSE int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    siginfo_t own = {0};
    int failed = REAL(waitid)(type, id, info ? info : &own, options);
    const siginfo_t *told = info ? info : &own;
    if (!failed && !(options & WNOWAIT)) {
        int code = told->si_code;
        ended(told->si_pid, code == CLD_EXITED || code == CLD_KILLED || code == CLD_DUMPED);
    }
    return failed;
}
