/* Memory that the program obtains and gives back. */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <unwind.h>

#include "operators.h"
#include "real.h"
#include "runtime.h"

enum { SOURCE_HEAP = 0, SOURCE_MAP = 2, SOURCE_SHARED = 3 };

/* ---- bootstrap: dlsym allocates while we look for malloc and free; this memory is never given back --------------- */

static _Alignas(16) uint8_t bootstrap[16384];
static size_t bootstrap_used;

static void *bootstrap_alloc(size_t bytes) {
    size_t at = bootstrap_used, rounded = (bytes + 15) & ~(size_t)15;
    if (rounded < bytes || rounded > sizeof bootstrap - at)
        return NULL;
    bootstrap_used = at + rounded;
    return bootstrap + at;
}

static bool from_bootstrap(const void *p) {
    return (uintptr_t)p - (uintptr_t)bootstrap < sizeof bootstrap;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

extern const char __start_hn_entry_points[] __attribute__((visibility("hidden")));
extern const char __stop_hn_entry_points[] __attribute__((visibility("hidden")));

static bool is_entry_point(uintptr_t pc) {
    return pc - (uintptr_t)__start_hn_entry_points < (uintptr_t)(__stop_hn_entry_points - __start_hn_entry_points);
}

/* For a library that is preloaded beside us and looks at call stacks. */
EXPORT void homenode_entry_points(const char **from, const char **to) {
    *from = __start_hn_entry_points;
    *to = __stop_hn_entry_points;
}

struct search {
    uintptr_t from, found;
    unsigned frames;
};

static _Unwind_Reason_Code outward(struct _Unwind_Context *context, void *argument) {
    struct search *s = argument;
    uintptr_t pc = _Unwind_GetIP(context) - 1;
    if (s->from && pc != s->from)
        return --s->frames ? _URC_NO_REASON : _URC_END_OF_STACK;
    s->from = 0;
    if (!is_entry_point(pc) && hnrt_module_has(pc))
        s->found = pc;
    return s->found || !--s->frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* A library allocates for the program (strdup, std::string, a stream's buffer): the call that led into the library is
 * what people can change, and the entry points have not seen it. The library's own place if there is no such call. */
static NOINLINE uintptr_t program_pc(struct hn_thread *t, uintptr_t pc) {
    struct search s = {pc, 0, 32};
    t->guard++;
    _Unwind_Backtrace(outward, &s);
    t->guard--;
    return s.found ? s.found : pc;
}

/* Memory that another thread gave back passes to this one: the allocator's own synchronisation, which nobody else
 * sees. */
static void *obtained(void *p, size_t bytes, uint64_t source, uintptr_t pc) {
    struct hn_thread *t = hnrt_recording();
    if (!t)
        return p;
    if (t->alloc_pc)
        pc = t->alloc_pc;
    t->alloc_pc = 0;
    if (p && hnrt_threaded)
        hnrt_acquire(t, p, HN_EPOCH_ALLOCATOR, HN_SYNC_ALLOCATOR);
    if (p && t->recording)
        hnrt_event_alloc(t, p, bytes, source, LIKELY(hnrt_module_has(pc)) ? pc : program_pc(t, pc));
    return p;
}

static void giving_back(void *p) {
    struct hn_thread *t = p ? hnrt_recording() : NULL;
    if (!t)
        return;
    hnrt_event(t, HN_EVENT_FREE, (uintptr_t)p, 0);
    if (hnrt_threaded && t->recording)
        hnrt_release(t, p, HN_EPOCH_ALLOCATOR, HN_SYNC_ALLOCATOR);
}

/* ---- malloc and its family --------------------------------------------------------------------------------------- */

INTERPOSE void *malloc(size_t bytes) {
    if (UNLIKELY(hnrt_real_resolving()))
        return bootstrap_alloc(bytes);
    return obtained(REAL(malloc)(bytes), bytes, SOURCE_HEAP, CALLER());
}

INTERPOSE void *calloc(size_t count, size_t bytes) {
    if (UNLIKELY(hnrt_real_resolving()))
        return bytes && count > sizeof bootstrap / bytes ? NULL : bootstrap_alloc(count * bytes);
    return obtained(REAL(calloc)(count, bytes), count * bytes, SOURCE_HEAP, CALLER());
}

INTERPOSE void free(void *p) {
    if (UNLIKELY(from_bootstrap(p) || hnrt_real_resolving()))
        return;
    giving_back(p);
    REAL(free)(p);
}

static void *leave_bootstrap(void *p, size_t bytes) {
    uint8_t *to = malloc(bytes), *from = p;
    size_t most = sizeof bootstrap - (size_t)(from - bootstrap);
    for (size_t i = 0; to && i < bytes && i < most; i++)
        to[i] = from[i];
    return to;
}

/* The old block is recorded as freed before the real call, as another thread may get it at once. Should the call
 * fail, the old block is obtained again. */
static void *reallocated(void *p, size_t bytes, uintptr_t pc) {
    if (UNLIKELY(from_bootstrap(p)))
        return leave_bootstrap(p, bytes);
    struct hn_thread *t = hnrt_recording();
    giving_back(p);
    void *q = REAL(realloc)(p, bytes);
    if (t && t->recording && p && q)
        hnrt_event(t, HN_EVENT_REALLOC, (uintptr_t)p, (uintptr_t)q);
    if (p && !q && bytes)
        obtained(p, malloc_usable_size(p), SOURCE_HEAP, pc);
    return obtained(q, bytes, SOURCE_HEAP, pc);
}

INTERPOSE void *realloc(void *p, size_t bytes) {
    return reallocated(p, bytes, CALLER());
}

INTERPOSE void *reallocarray(void *p, size_t count, size_t bytes) {
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return reallocated(p, all, CALLER());
}

INTERPOSE int posix_memalign(void **out, size_t alignment, size_t bytes) {
    int failed = REAL(posix_memalign)(out, alignment, bytes);
    if (!failed)
        obtained(*out, bytes, SOURCE_HEAP, CALLER());
    return failed;
}

INTERPOSE void *aligned_alloc(size_t alignment, size_t bytes) {
    return obtained(REAL(aligned_alloc)(alignment, bytes), bytes, SOURCE_HEAP, CALLER());
}

INTERPOSE void *memalign(size_t alignment, size_t bytes) {
    return obtained(REAL(memalign)(alignment, bytes), bytes, SOURCE_HEAP, CALLER());
}

INTERPOSE void *valloc(size_t bytes) {
    return obtained(REAL(valloc)(bytes), bytes, SOURCE_HEAP, CALLER());
}

INTERPOSE void *pvalloc(size_t bytes) {
    return obtained(REAL(pvalloc)(bytes), bytes, SOURCE_HEAP, CALLER());
}

/* ---- operator new: calls malloc from inside libstdc++, so the site of the new-expression is passed on by hand ---- */

/* How far below an operator's frame the one lies that it calls itself: operator new[] is implemented by operator new, and
 * what counts is the outer one's caller. What an exception has left behind is rarely so near. */
#define NESTED_BYTES 512

static bool enter_operator(struct hn_thread *t, uintptr_t pc) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (t->alloc_pc && t->alloc_sp - here < NESTED_BYTES)
        return false;
    t->alloc_pc = pc;
    t->alloc_sp = here;
    return true;
}

#define OPERATOR_NEW(symbol, parameters, arguments)                                                                   \
    INTERPOSE void *symbol parameters {                                                                               \
        struct hn_thread *t = hnrt_self;                                                                              \
        bool outermost = t && enter_operator(t, CALLER());                                                            \
        void *p = REAL(symbol) arguments;                                                                             \
        if (outermost)                                                                                                \
            t->alloc_pc = 0;                                                                                          \
        return p;                                                                                                     \
    }
HN_OPERATORS_NEW(OPERATOR_NEW)

/* ---- mappings ---------------------------------------------------------------------------------------------------- */

static void *mapped(void *p, size_t bytes, int prot, int flags, int fd, off_t offset, uintptr_t pc) {
    struct hn_thread *t = p != MAP_FAILED ? hnrt_recording() : NULL;
    if (p != MAP_FAILED)
        hnrt_mapped(t, p, bytes, prot, flags, fd, (uint64_t)offset);
    if (t && t->recording && flags & MAP_ANONYMOUS)
        obtained(p, bytes, SOURCE_MAP, pc);
    return p;
}

static void unmapping(void *p, size_t bytes) {
    hnrt_shared_gone(p, bytes);
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_event(t, HN_EVENT_UNMAP, (uintptr_t)p, bytes);
    if (t && hnrt_threaded && t->recording)
        hnrt_release(t, p, HN_EPOCH_ALLOCATOR, HN_SYNC_ALLOCATOR);
}

INTERPOSE void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
    return mapped(REAL(mmap)(at, bytes, prot, flags, fd, offset), bytes, prot, flags, fd, offset, CALLER());
}

INTERPOSE void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
    return mapped(REAL(mmap)(at, bytes, prot, flags, fd, offset), bytes, prot, flags, fd, offset, CALLER());
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
    bool shared = hnrt_shared_at(p, &of);
    unmapping(p, old_bytes);
    void *q = REAL(mremap)(p, old_bytes, bytes, flags, at);
    bool moved = q != MAP_FAILED;
    void *now = moved ? q : p;
    if (shared)
        hnrt_mapped_shared(hnrt_recording(), now, moved ? bytes : old_bytes, &of);
    else
        mapped(now, moved ? bytes : old_bytes, 0, MAP_ANONYMOUS, -1, 0, CALLER());
    return q;
}

/* Segments of System V. */
INTERPOSE void *shmat(int id, const void *at, int flags) {
    void *p = REAL(shmat)(id, at, flags);
    struct hn_thread *t = p != (void *)-1 ? hnrt_recording() : NULL;
    size_t bytes = p != (void *)-1 ? hnrt_segment(t, p, id, flags) : 0;
    if (bytes && t && t->recording)
        obtained(p, bytes, SOURCE_MAP, CALLER());
    return p;
}

INTERPOSE int shmdt(const void *p) {
    size_t bytes = hnrt_segment_bytes(p);
    if (bytes)
        unmapping((void *)p, bytes);
    return REAL(shmdt)(p);
}

/* ---- the public header's allocation ------------------------------------------------------------------------------ */

static size_t whole_pages(size_t bytes) {
    return (bytes + 4095) & ~(size_t)4095;
}

/* Under `homenode svm run` memory is shared by the library that it preloads, which stands behind the program's own functions:
 * a mapping of ours would be shared by the processes of one host, and be no part of the shared heap. */
static bool in_svm(void) {
    if (!REAL(mmap) || !hnrt_real.homenode_svm_threads)
        return false;
    return hnrt_real.homenode_svm_threads() > 0 && hnrt_real.homenode_shared_alloc_for && hnrt_real.homenode_shared_free;
}

EXPORT void *homenode_shared_alloc(size_t bytes) {
    size_t whole = whole_pages(bytes);
    if (in_svm())
        return obtained(hnrt_real.homenode_shared_alloc_for(bytes, CALLER() + 1), bytes, SOURCE_SHARED, CALLER());
    if (!bytes || whole < bytes)
        return NULL;
    void *p = REAL(mmap)(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    hnrt_shared_anonymous(p, whole);
    return obtained(p, bytes, SOURCE_SHARED, CALLER());
}

EXPORT void homenode_shared_free(void *p, size_t bytes) {
    if (!p)
        return;
    giving_back(p);
    if (in_svm()) {
        hnrt_real.homenode_shared_free(p, bytes);
        return;
    }
    hnrt_shared_gone(p, bytes);
    REAL(munmap)(p, whole_pages(bytes));
}
