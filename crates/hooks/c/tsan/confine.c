/* A thread that forbids itself what recording takes: reading the time-stamp counter (PR_SET_TSC), or nearly every system call (strict
 * seccomp). It would be killed at our next batch. So recording ends here for the whole process, of which the kernel hands the first on
 * to new threads and children; what they do from here on is counted as dropped. */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "os.h"
#include "real.h"
#include "runtime.h"

static bool ends_recording(int option, unsigned long value) {
    return (option == PR_SET_TSC && value == PR_TSC_SIGSEGV) || (option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT);
}

static void leave(void) {
    struct hn_thread *t = hnrt_self;
    if (!hnrt_attached || !hnrt_record || hnrt_confined)
        return;
    hnrt_complain("this process forbids itself the clock or system calls (prctl): what it does from here on is not recorded");
    hnrt_confined = true;
    if (t)
        hnrt_leave_ring(t);
}

INTERPOSE int prctl(int option, ...) {
    unsigned long a[4];
    va_list rest;
    va_start(rest, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(rest, unsigned long);
    va_end(rest);
    if (ends_recording(option, a[0]))
        leave();
    return REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}
