/* Semaphores with names: the C library maps them by itself, from files that other processes open, too. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os.h"
#include "real.h"
#include "runtime.h"

#define PAGE 4096

static void *page_of(const sem_t *s) {
    return (void *)((uintptr_t)s & ~(uintptr_t)(PAGE - 1));
}

/* The file of a semaphore; false if there is none by now. */
static bool file_of(const char *name, struct stat *s) {
    char path[300] = "/dev/shm/sem.";
    size_t used = sizeof "/dev/shm/sem." - 1;
    while (*name == '/')
        name++;
    while (*name && used < sizeof path - 1)
        path[used++] = *name++;
    path[used] = 0;
    return !*name && stat(path, s) == 0;
}

INTERPOSE sem_t *sem_open(const char *name, int flags, ...) {
    struct stat s;
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    unsigned value = flags & O_CREAT ? va_arg(more, unsigned) : 0;
    va_end(more);
    sem_t *opened = REAL(sem_open)(name, flags, mode, value);
    int saved = errno;
    if (opened != SEM_FAILED && !hnrt_shared_counter(opened) && file_of(name, &s)) {
        const struct hn_shared of = {s.st_dev, s.st_ino, 0, PROT_READ | PROT_WRITE, MAP_SHARED};
        hnrt_mapped_shared(hnrt_recording(), page_of(opened), PAGE, &of);
    }
    errno = saved;
    return opened;
}

/* The page is gone when whoever opened it last closes it. */
INTERPOSE int sem_close(sem_t *s) {
    unsigned char there;
    int failed = REAL(sem_close)(s);
    void *page = page_of(s);
    if (!failed && os_failed(os(SYS_mincore, page, PAGE, &there))) {
        hnrt_shared_gone(page, PAGE);
        struct hn_thread *t = hnrt_recording();
        if (t)
            hnrt_event(t, HN_EVENT_UNMAP, (uintptr_t)page, PAGE);
    }
    return failed;
}
