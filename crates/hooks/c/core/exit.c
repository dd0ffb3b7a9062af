/* The ends of a process. What has been recorded is in the rings whatever happens; here the counts are brought home,
 * and the ending thread's ring is closed. */
#include <unistd.h>

#include "os.h"
#include "real.h"
#include "runtime.h"

/* A vfork child borrows its parent's memory: nothing of it is to be ended. */
static bool in_own_process(void) {
    return (uint32_t)os(SYS_getpid) == hnrt_pid;
}

/* Ends the recording of the process. Other threads may run on until the kernel stops them: their rings stay open. */
void hnrt_process_end(void) {
    struct hn_thread *t = hnrt_self;
    if (in_own_process())
        hnrt_at_process_end();
    if (!t || t->ended || !in_own_process())
        return hnrt_flush_all();
    if (t->recording)
        hnrt_modules_scan(t);
    hnrt_threads_left(t);
    hnrt_thread_end(t);
    hnrt_flush_all();
    hnrt_doorbell();
}

/* After the destructors of the program (they have later priorities) and before those of the libraries. */
__attribute__((destructor(101))) static void at_exit(void) {
    hnrt_process_end();
}

void hnrt_exit_init(void) {
    at_quick_exit(hnrt_process_end); /* registered first, so run last */
}

INTERPOSE _Noreturn void _exit(int status) {
    if (in_own_process())
        hnrt_process_end();
    REAL(_exit)(status);
    __builtin_unreachable();
}

INTERPOSE _Noreturn void _Exit(int status) {
    if (in_own_process())
        hnrt_process_end();
    REAL(_exit)(status);
    __builtin_unreachable();
}

/* A handler of SIGABRT may still run, and jump: only the counts are brought home. */
INTERPOSE _Noreturn void abort(void) {
    if (in_own_process())
        hnrt_flush_all();
    REAL(abort)();
    __builtin_unreachable();
}

/* ---- exec: if it succeeds the rings end where they are, and the new program attaches by itself ------------------- */

static void before_exec(void) {
    if (in_own_process())
        hnrt_flush_all();
}

INTERPOSE int execve(const char *path, char *const argv[], char *const environment[]) {
    before_exec();
    return REAL(execve)(path, argv, environment);
}

INTERPOSE int execv(const char *path, char *const argv[]) {
    before_exec();
    return REAL(execv)(path, argv);
}

INTERPOSE int execvp(const char *file, char *const argv[]) {
    before_exec();
    return REAL(execvp)(file, argv);
}

INTERPOSE int execvpe(const char *file, char *const argv[], char *const environment[]) {
    before_exec();
    return REAL(execvpe)(file, argv, environment);
}

INTERPOSE int fexecve(int fd, char *const argv[], char *const environment[]) {
    before_exec();
    return REAL(fexecve)(fd, argv, environment);
}
