/* Mappings that the program makes by itself. */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "os.h"
#include "real.h"
#include "agent.h"

/* Begins an event of a mapping; NULL: nothing of it is recorded. */
static struct hn_thread *begin_event(struct hn_thread *t) {
    if (t->recording)
        hnag_fresh_batch(t);
    return t->recording ? t : NULL;
}

/* Reservations (no access at all) are no objects: what is made of them later is not seen. */
static void mapped(const void *p, size_t bytes, int prot, int flags, int fd, off_t offset) {
    struct hn_thread *t = hnag_enter();
    if (!t)
        return;
    hnrt_mapped(begin_event(t), p, bytes, prot, flags, fd, (uint64_t)offset);
    hnag_leave(t);
    if (flags & MAP_ANONYMOUS)
        hnag_obtained(p, bytes, HNAG_MAP);
}

static void mapped_shared(const void *p, size_t bytes, const struct hn_shared *of) {
    struct hn_thread *t = hnag_enter();
    if (!t)
        return;
    hnrt_mapped_shared(begin_event(t), p, bytes, of);
    hnag_leave(t);
}

static void *map(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
    void *p = (void *)REAL(mmap)(at, bytes, prot, flags, fd, offset);
    if (p != MAP_FAILED)
        mapped(p, bytes, prot, flags, fd, offset);
    if (p != MAP_FAILED)
        hnag_protect_mapping(p, bytes, prot, flags);
    return p;
}

INTERPOSE void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
    return map(at, bytes, prot, flags, fd, offset);
}

INTERPOSE void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
    return map(at, bytes, prot, flags, fd, offset);
}

/* True if an object that begins here ends, and was placed. A part that is unmapped leaves the object as it is. */
static bool unmapping(void *p, size_t bytes) {
    struct hnag_object o = {0};
    bool known = hnag_registry_get(p, &o) && o.bytes <= bytes && hnag_released(p, &o);
    hnrt_shared_gone(p, bytes);
    struct hn_thread *t = hnag_enter();
    if (t && t->recording) {
        hnag_fresh_batch(t);
        if (t->recording)
            hnrt_event(t, HN_EVENT_UNMAP, (uintptr_t)p, bytes);
    }
    if (t)
        hnag_leave(t);
    return known && o.placed;
}

INTERPOSE int munmap(void *p, size_t bytes) {
    unmapping(p, bytes);
    return REAL(munmap)(p, bytes);
}

/* The protection of the moved range is that of the old one, which is known of shared files only: otherwise recorded as 0. */
INTERPOSE void *mremap(void *p, size_t old_bytes, size_t bytes, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void *at = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    struct hn_shared of;
    bool shared = hnrt_shared_at(p, &of), placed = unmapping(p, old_bytes);
    int saved = errno;
    void *q = REAL(mremap)(p, old_bytes, bytes, flags, at);
    if (q == MAP_FAILED && (errno == EFAULT || errno == ENOMEM) && placed) {
        errno = saved;
        q = hnag_remap_pieces(p, old_bytes, bytes, flags, at);
    }
    bool moved = q != MAP_FAILED;
    if (shared)
        mapped_shared(moved ? q : p, moved ? bytes : old_bytes, &of);
    else
        mapped(moved ? q : p, moved ? bytes : old_bytes, 0, MAP_ANONYMOUS, -1, 0);
    return q;
}

/* Segments of System V. */
INTERPOSE void *shmat(int id, const void *at, int flags) {
    void *p = REAL(shmat)(id, at, flags);
    struct hn_thread *t = p != (void *)-1 ? hnag_enter() : NULL;
    if (!t)
        return p;
    size_t bytes = hnrt_segment(begin_event(t), p, id, flags);
    hnag_leave(t);
    if (bytes)
        hnag_obtained(p, bytes, HNAG_MAP);
    return p;
}

INTERPOSE int shmdt(const void *p) {
    size_t bytes = hnrt_segment_bytes(p);
    if (bytes)
        unmapping((void *)p, bytes);
    return REAL(shmdt)(p);
}
