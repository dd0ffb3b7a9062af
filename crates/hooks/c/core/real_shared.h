/* The functions in front of which every product stands: X(name, return type, arguments). */
#pragma once

#define HN_REAL_SHARED(X)                                                                                             \
    X(pthread_create, int, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))                          \
    X(pthread_join, int, (pthread_t, void **))                                                                        \
    X(pthread_tryjoin_np, int, (pthread_t, void **))                                                                  \
    X(pthread_timedjoin_np, int, (pthread_t, void **, const struct timespec *))                                       \
    X(pthread_clockjoin_np, int, (pthread_t, void **, clockid_t, const struct timespec *))                            \
    X(thrd_create, int, (thrd_t *, thrd_start_t, void *))                                                             \
    X(sched_setaffinity, int, (pid_t, size_t, const cpu_set_t *))                                                     \
    X(pthread_setaffinity_np, int, (pthread_t, size_t, const cpu_set_t *))                                            \
    X(malloc, void *, (size_t))                                                                                       \
    X(calloc, void *, (size_t, size_t))                                                                               \
    X(realloc, void *, (void *, size_t))                                                                              \
    X(free, void, (void *))                                                                                           \
    X(posix_memalign, int, (void **, size_t, size_t))                                                                 \
    X(aligned_alloc, void *, (size_t, size_t))                                                                        \
    X(memalign, void *, (size_t, size_t))                                                                             \
    X(valloc, void *, (size_t))                                                                                       \
    X(pvalloc, void *, (size_t))                                                                                      \
    X(mmap, void *, (void *, size_t, int, int, int, off_t))                                                           \
    X(mremap, void *, (void *, size_t, size_t, int, ...))                                                             \
    X(shmat, void *, (int, const void *, int))                                                                        \
    X(shmdt, int, (const void *))                                                                                     \
    X(munmap, int, (void *, size_t))                                                                                  \
    X(_Fork, pid_t, (void))                                                                                           \
    X(abort, void, (void))                                                                                            \
    X(_exit, void, (int))                                                                                             \
    X(execve, int, (const char *, char *const[], char *const[]))                                                      \
    X(execv, int, (const char *, char *const[]))                                                                      \
    X(execvp, int, (const char *, char *const[]))                                                                     \
    X(execvpe, int, (const char *, char *const[], char *const[]))                                                     \
    X(fexecve, int, (int, char *const[], char *const[]))                                                              \
    X(_Znwm, void *, (size_t))                                                                                        \
    X(_Znam, void *, (size_t))                                                                                        \
    X(_ZnwmRKSt9nothrow_t, void *, (size_t, const void *))                                                            \
    X(_ZnamRKSt9nothrow_t, void *, (size_t, const void *))                                                            \
    X(_ZnwmSt11align_val_t, void *, (size_t, size_t))                                                                 \
    X(_ZnamSt11align_val_t, void *, (size_t, size_t))                                                                 \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t, void *, (size_t, size_t, const void *))                                     \
    X(_ZnamSt11align_val_tRKSt9nothrow_t, void *, (size_t, size_t, const void *))
