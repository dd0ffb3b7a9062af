/* Annotations of programs that know ThreadSanitizer: hand-overs are synchronisation; the rest has no meaning here
 * and is accepted. */
#include "runtime.h"

EXPORT void __tsan_acquire(void *object) {
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_acquire(t, object, 0, HN_SYNC_ANNOTATION);
}

EXPORT void __tsan_release(void *object) {
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_release(t, object, 0, HN_SYNC_ANNOTATION);
}

INTERPOSE void AnnotateHappensBefore(const char *file, int line, const volatile void *object) {
    (void)file, (void)line;
    __tsan_release((void *)object);
}

INTERPOSE void AnnotateHappensAfter(const char *file, int line, const volatile void *object) {
    (void)file, (void)line;
    __tsan_acquire((void *)object);
}

/* A lock of the program's own making. */
EXPORT void __tsan_mutex_post_lock(void *object, unsigned flags, int recursion) {
    (void)flags, (void)recursion;
    __tsan_acquire(object);
}

EXPORT int __tsan_mutex_pre_unlock(void *object, unsigned flags) {
    (void)flags;
    __tsan_release(object);
    return 0;
}

#define NOTHING(name, parameters)                                                                                     \
    INTERPOSE void name parameters {}
#define TWO (void *a __attribute__((unused)), unsigned b __attribute__((unused)))
#define AT (const char *file __attribute__((unused)), int line __attribute__((unused)))
NOTHING(__tsan_mutex_create, TWO)
NOTHING(__tsan_mutex_destroy, TWO)
NOTHING(__tsan_mutex_pre_lock, TWO)
NOTHING(__tsan_mutex_post_unlock, TWO)
NOTHING(__tsan_mutex_pre_signal, TWO)
NOTHING(__tsan_mutex_post_signal, TWO)
NOTHING(__tsan_mutex_pre_divert, TWO)
NOTHING(__tsan_mutex_post_divert, TWO)
NOTHING(__tsan_ignore_thread_begin, (void))
NOTHING(__tsan_ignore_thread_end, (void))
NOTHING(__tsan_flush_memory, (void))
NOTHING(AnnotateIgnoreReadsBegin, AT)
NOTHING(AnnotateIgnoreReadsEnd, AT)
NOTHING(AnnotateIgnoreWritesBegin, AT)
NOTHING(AnnotateIgnoreWritesEnd, AT)
NOTHING(AnnotateIgnoreSyncBegin, AT)
NOTHING(AnnotateIgnoreSyncEnd, AT)

/* Fibers: their references belong to the thread that runs them. */
EXPORT void *__tsan_get_current_fiber(void) {
    return NULL;
}

EXPORT void *__tsan_create_fiber(unsigned flags) {
    (void)flags;
    return NULL;
}

NOTHING(__tsan_destroy_fiber, (void *fiber __attribute__((unused))))
NOTHING(__tsan_switch_to_fiber, TWO)
NOTHING(__tsan_set_fiber_name, (void *fiber __attribute__((unused)), const char *name __attribute__((unused))))
