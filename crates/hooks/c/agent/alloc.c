/* malloc and its family. Small requests are passed on after one comparison. */
#include <errno.h>

#include "real.h"
#include "agent.h"

#define PLAIN(bytes) LIKELY((bytes) < hnag_threshold)

static void *seen(void *p, size_t bytes) {
    hnag_obtained(p, bytes, HNAG_HEAP);
    return p;
}

INTERPOSE void *malloc(size_t bytes) {
    if (PLAIN(bytes))
        return hnrt_real.malloc(bytes);
    hnag_attend(hnag_in_loader(CALLER()));
    return seen(REAL(malloc)(bytes), bytes);
}

/* The loader asks for memory here when it begins to load a library. */
INTERPOSE void *calloc(size_t count, size_t each) {
    bool by_loader = hnag_in_loader(CALLER());
    size_t bytes;
    if (UNLIKELY(by_loader))
        hnag_request_attention();
    if (__builtin_mul_overflow(count, each, &bytes) || PLAIN(bytes))
        return REAL(calloc)(count, each);
    hnag_attend(by_loader);
    return seen(REAL(calloc)(count, each), bytes);
}

INTERPOSE void free(void *p) {
    struct hnag_object o;
    if (UNLIKELY(hnag_maybe(p)))
        hnag_released(p, &o);
    REAL(free)(p);
}

/* The old block is recorded as freed before the real call, as another thread may get it at once. Should the call
 * fail, the old block is obtained again. */
static void *realloc_seen(void *p, size_t bytes) {
    struct hnag_object o;
    bool known = hnag_released(p, &o);
    void *q = REAL(realloc)(p, bytes);
    struct hn_thread *t = known && q ? hnag_enter() : NULL;
    if (t && t->recording)
        hnrt_event(t, HN_EVENT_REALLOC, (uintptr_t)p, (uintptr_t)q);
    if (t)
        hnag_leave(t);
    if (known && !q && bytes)
        hnag_obtained(p, o.bytes, HNAG_HEAP);
    return seen(q, bytes);
}

INTERPOSE void *realloc(void *p, size_t bytes) {
    if (PLAIN(bytes) && !hnag_maybe(p))
        return hnrt_real.realloc(p, bytes);
    hnag_attend(hnag_in_loader(CALLER()));
    return realloc_seen(p, bytes);
}

INTERPOSE void *reallocarray(void *p, size_t count, size_t each) {
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, bytes);
}

INTERPOSE int posix_memalign(void **out, size_t alignment, size_t bytes) {
    int failed = REAL(posix_memalign)(out, alignment, bytes);
    if (!failed)
        seen(*out, bytes);
    return failed;
}

INTERPOSE void *aligned_alloc(size_t alignment, size_t bytes) {
    return seen(REAL(aligned_alloc)(alignment, bytes), bytes);
}

INTERPOSE void *memalign(size_t alignment, size_t bytes) {
    return seen(REAL(memalign)(alignment, bytes), bytes);
}

INTERPOSE void *valloc(size_t bytes) {
    return seen(REAL(valloc)(bytes), bytes);
}

INTERPOSE void *pvalloc(size_t bytes) {
    return seen(REAL(pvalloc)(bytes), bytes);
}
