/* Keeps a perf event open for as long as the guest runs: hold. Returns when it is open.
 * The kernel rewrites its page fault handler and its scheduler when the first such event is opened and after the last is
 * closed, and emulated processors that run this code meanwhile may read half of an instruction: the guest's kernel then
 * stops. With one event kept open nothing is rewritten when others come and go. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Never returns: the event lives as long as this process. */
static void hold(int ready) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_PAGE_FAULTS};
    int event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0)
        perror("perf_event_open");
    char ok = event >= 0;
    if (write(ready, &ok, 1) != 1 || !ok)
        _exit(2);
    /* Whoever reads what the test says must not wait for this process. */
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    for (;;)
        pause();
}

int main(void) {
    int ends[2];
    if (pipe(ends)) {
        perror("pipe");
        return 2;
    }
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return 2;
    }
    if (child == 0) {
        close(ends[0]);
        hold(ends[1]);
    }
    close(ends[1]);
    char ok = 0;
    return read(ends[0], &ok, 1) == 1 && ok ? 0 : 2;
}
