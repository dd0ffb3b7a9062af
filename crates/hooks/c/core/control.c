/* Attaching to a recorder. The environment variable and the file behind it are not trusted: whatever is wrong with
 * them, the program runs unrecorded and one line on stderr says why. */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os.h"
#include "runtime.h"

static _Alignas(4096) uint8_t private_control[HN_CONTROL_OFF_TABLE];
uint8_t *hnrt_control = private_control;
bool hnrt_attached, hnrt_record, hnrt_confined, hnrt_threaded;
uint32_t hnrt_pid, hnrt_parent_pid;
static int recorder = -1;

void hnrt_complain(const char *what) {
    static const char prefix[] = HN_NAME;
    char line[256];
    size_t n = sizeof prefix - 1;
    for (size_t i = 0; i < n; i++)
        line[i] = prefix[i];
    while (*what && n < sizeof line - 1)
        line[n++] = *what++;
    line[n++] = '\n';
    os(SYS_write, 2, line, n);
}

/* NULL if this is a file that a recorder of ours may have made. */
static const char *check_file(int fd) {
    struct stat s;
    if (fstat(fd, &s) != 0)
        return "cannot stat the control file: not recording";
    if (!S_ISREG(s.st_mode))
        return "the control file is not a regular file: not recording";
    if (s.st_uid != geteuid())
        return "the control file belongs to another user: not recording";
    if ((uint64_t)s.st_size != HN_CONTROL_BYTES)
        return "the control file has the wrong size: not recording";
    return NULL;
}

static bool terminated(const uint8_t *text, size_t room) {
    for (size_t i = 0; i < room; i++)
        if (!text[i])
            return true;
    return false;
}

/* NULL if the content makes sense. Everything the runtime later relies on is checked here. */
static const char *check_content(const uint8_t *c) {
    if (*(const uint64_t *)(c + HN_CONTROL_OFF_MAGIC) != HN_CONTROL_MAGIC)
        return "the control file is something else (wrong magic): not recording";
    if (*(const uint32_t *)(c + HN_CONTROL_OFF_VERSION) != HN_LAYOUT_VERSION)
        return "the control file has another layout version: rebuild the program with this homenode; not recording";
    if (*(const uint32_t *)(c + HN_CONTROL_OFF_MODE) > HN_MODE_COUNT)
        return "the control file asks for an unknown mode: not recording";
    if (c[HN_CONTROL_OFF_DIR] != '/' || !terminated(c + HN_CONTROL_OFF_DIR, 3072) ||
        !terminated(c + HN_CONTROL_OFF_ROI, 64))
        return "the control file names no rings directory: not recording";
    if ((c[HN_CONTROL_OFF_MEMORY] && c[HN_CONTROL_OFF_MEMORY] != '/') || !terminated(c + HN_CONTROL_OFF_MEMORY, 256))
        return "the control file names no directory in memory: not recording";
    return NULL;
}

/* Opens the recorder's process, so that its death can be seen. Without pidfds (before Linux 5.3) kill(2) has to do. */
static const char *open_recorder(const uint8_t *c) {
    uint32_t pid = *(const uint32_t *)(c + HN_CONTROL_OFF_RECORDER_PID);
    long fd = os(SYS_pidfd_open, pid, 0);
    if (!os_failed(fd)) {
        recorder = (int)fd;
        return NULL;
    }
    if (fd == -ENOSYS && (int)pid > 0 && os(SYS_kill, pid, 0) != -ESRCH)
        return NULL;
    return "the recorder is gone: not recording";
}

static const char *open_control(const char *path) {
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return "cannot open the control file: not recording";
    const char *wrong = check_file(fd);
    void *map = MAP_FAILED;
    if (!wrong)
        map = (void *)os(SYS_mmap, 0, HN_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    os(SYS_close, fd);
    if (wrong)
        return wrong;
    if (os_failed((long)map))
        return "cannot map the control file: not recording";
    if ((wrong = check_content(map)) || (wrong = open_recorder(map))) {
        os(SYS_munmap, map, HN_CONTROL_BYTES);
        return wrong;
    }
    hnrt_control = map;
    return NULL;
}

/* Sets hnrt_control, hnrt_attached and hnrt_record; false if nothing is to be recorded. */
bool hnrt_control_open(void) {
    const char *path = getenv(HN_CONTROL_ENV);
    hnrt_pid = (uint32_t)getpid();
    hnrt_parent_pid = (uint32_t)getppid();
    if (!path || !*path)
        return false;
    const char *wrong = getauxval(AT_SECURE) ? "a set-user-ID program is never recorded" : open_control(path);
    if (wrong) {
        hnrt_complain(wrong);
        return false;
    }
    hnrt_attached = true;
    hnrt_record = *CONTROL32(HN_CONTROL_OFF_MODE) == HN_MODE_RECORD;
    hnrt_repeats = *CONTROL32(HN_CONTROL_OFF_REPEATS) != 0;
    hnrt_pages_init();
    __atomic_fetch_add(CONTROL32(HN_CONTROL_OFF_ATTACHED), 1, __ATOMIC_RELAXED);
    return true;
}

/* False once the recorder is dead, zombies included. A program that closes descriptors it did not open may have put
 * another file behind ours; then the process id has to do. */
bool hnrt_recorder_alive(void) {
    long sent = os(SYS_pidfd_send_signal, recorder, 0, 0, 0);
    if (sent == -ESRCH)
        return false;
    if (sent == -EBADF || sent == -EINVAL || sent == -ENOSYS)
        return os(SYS_kill, *CONTROL32(HN_CONTROL_OFF_RECORDER_PID), 0) != -ESRCH;
    struct pollfd p = {.fd = recorder, .events = POLLIN};
    struct timespec now = {0};
    return os(SYS_ppoll, &p, 1, &now, 0, 0) <= 0;
}

/* Closes all descriptors but the recorder's. The calling thread must have a table of its own. */
void hnrt_close_descriptors(void) {
    if (recorder > 0)
        os(SYS_close_range, 0, recorder - 1, 0);
    os(SYS_close_range, recorder + 1, ~0u, 0);
}

/* Ends recording for every process, with the first reason given. */
void hnrt_stop(uint32_t reason) {
    uint32_t running = 0;
    __atomic_compare_exchange_n(CONTROL32(HN_CONTROL_OFF_STOP), &running, reason, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
}
