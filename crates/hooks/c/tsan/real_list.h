/* The functions in front of which the hooks stand: X(name, return type, arguments). */
#pragma once

#include "real_shared.h"

#define HN_REAL(X)                                                                                                    \
    HN_REAL_SHARED(X)                                                                                                 \
    X(pthread_mutex_clocklock, int, (pthread_mutex_t *, clockid_t, const struct timespec *))                          \
    X(pthread_rwlock_clockrdlock, int, (pthread_rwlock_t *, clockid_t, const struct timespec *))                      \
    X(pthread_rwlock_clockwrlock, int, (pthread_rwlock_t *, clockid_t, const struct timespec *))                      \
    X(sem_clockwait, int, (sem_t *, clockid_t, const struct timespec *))                                              \
    X(mtx_lock, int, (mtx_t *))                                                                                       \
    X(mtx_trylock, int, (mtx_t *))                                                                                    \
    X(mtx_timedlock, int, (mtx_t *, const struct timespec *))                                                         \
    X(mtx_unlock, int, (mtx_t *))                                                                                     \
    X(cnd_wait, int, (cnd_t *, mtx_t *))                                                                              \
    X(cnd_timedwait, int, (cnd_t *, mtx_t *, const struct timespec *))                                                \
    X(cnd_signal, int, (cnd_t *))                                                                                     \
    X(cnd_broadcast, int, (cnd_t *))                                                                                  \
    X(thrd_join, int, (thrd_t, int *))                                                                                \
    X(wait, pid_t, (int *))                                                                                           \
    X(waitpid, pid_t, (pid_t, int *, int))                                                                            \
    X(wait3, pid_t, (int *, int, struct rusage *))                                                                    \
    X(wait4, pid_t, (pid_t, int *, int, struct rusage *))                                                             \
    X(waitid, int, (idtype_t, id_t, siginfo_t *, int))                                                                \
    X(pthread_mutex_lock, int, (pthread_mutex_t *))                                                                   \
    X(pthread_mutex_trylock, int, (pthread_mutex_t *))                                                                \
    X(pthread_mutex_timedlock, int, (pthread_mutex_t *, const struct timespec *))                                     \
    X(pthread_mutex_unlock, int, (pthread_mutex_t *))                                                                 \
    X(pthread_rwlock_rdlock, int, (pthread_rwlock_t *))                                                               \
    X(pthread_rwlock_wrlock, int, (pthread_rwlock_t *))                                                               \
    X(pthread_rwlock_tryrdlock, int, (pthread_rwlock_t *))                                                            \
    X(pthread_rwlock_trywrlock, int, (pthread_rwlock_t *))                                                            \
    X(pthread_rwlock_timedrdlock, int, (pthread_rwlock_t *, const struct timespec *))                                 \
    X(pthread_rwlock_timedwrlock, int, (pthread_rwlock_t *, const struct timespec *))                                 \
    X(pthread_rwlock_unlock, int, (pthread_rwlock_t *))                                                               \
    X(pthread_spin_lock, int, (pthread_spinlock_t *))                                                                 \
    X(pthread_spin_trylock, int, (pthread_spinlock_t *))                                                              \
    X(pthread_spin_unlock, int, (pthread_spinlock_t *))                                                               \
    X(pthread_cond_wait, int, (pthread_cond_t *, pthread_mutex_t *))                                                  \
    X(pthread_cond_timedwait, int, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))                    \
    X(pthread_cond_clockwait, int, (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))         \
    X(pthread_cond_signal, int, (pthread_cond_t *))                                                                   \
    X(pthread_cond_broadcast, int, (pthread_cond_t *))                                                                \
    X(pthread_barrier_init, int, (pthread_barrier_t *, const pthread_barrierattr_t *, unsigned))                      \
    X(pthread_barrier_wait, int, (pthread_barrier_t *))                                                               \
    X(pthread_once, int, (pthread_once_t *, void (*)(void)))                                                          \
    X(sem_wait, int, (sem_t *))                                                                                       \
    X(sem_trywait, int, (sem_t *))                                                                                    \
    X(sem_timedwait, int, (sem_t *, const struct timespec *))                                                         \
    X(sem_open, sem_t *, (const char *, int, ...))                                                                    \
    X(sem_close, int, (sem_t *))                                                                                      \
    X(sem_post, int, (sem_t *))                                                                                       \
    X(__cxa_guard_acquire, int, (void *))                                                                             \
    X(__cxa_guard_release, void, (void *))                                                                            \
    X(prctl, int, (int, ...))                                                                                         \
    X(memcpy, void *, (void *, const void *, size_t))                                                                 \
    X(memmove, void *, (void *, const void *, size_t))                                                                \
    X(mempcpy, void *, (void *, const void *, size_t))                                                                \
    X(memset, void *, (void *, int, size_t))                                                                          \
    X(memchr, void *, (const void *, int, size_t))                                                                    \
    X(memcmp, int, (const void *, const void *, size_t))                                                              \
    X(strlen, size_t, (const char *))                                                                                 \
    X(strcpy, char *, (char *, const char *))                                                                         \
    X(strncpy, char *, (char *, const char *, size_t))                                                                \
    X(strcat, char *, (char *, const char *))                                                                         \
    X(strcmp, int, (const char *, const char *))                                                                      \
    X(strncmp, int, (const char *, const char *, size_t))                                                             \
    X(strchr, char *, (const char *, int))                                                                            \
    X(bzero, void, (void *, size_t))                                                                                  \
    X(explicit_bzero, void, (void *, size_t))                                                                         \
    X(bcopy, void, (const void *, void *, size_t))                                                                    \
    X(memccpy, void *, (void *, const void *, int, size_t))                                                           \
    X(memrchr, void *, (const void *, int, size_t))                                                                   \
    X(rawmemchr, void *, (const void *, int))                                                                         \
    X(memmem, void *, (const void *, size_t, const void *, size_t))                                                   \
    X(swab, void, (const void *, void *, ssize_t))                                                                    \
    X(strnlen, size_t, (const char *, size_t))                                                                        \
    X(strrchr, char *, (const char *, int))                                                                           \
    X(strchrnul, char *, (const char *, int))                                                                         \
    X(strstr, char *, (const char *, const char *))                                                                   \
    X(strcasestr, char *, (const char *, const char *))                                                               \
    X(strspn, size_t, (const char *, const char *))                                                                   \
    X(strcspn, size_t, (const char *, const char *))                                                                  \
    X(strpbrk, char *, (const char *, const char *))                                                                  \
    X(strcasecmp, int, (const char *, const char *))                                                                  \
    X(strncasecmp, int, (const char *, const char *, size_t))                                                         \
    X(stpcpy, char *, (char *, const char *))                                                                         \
    X(stpncpy, char *, (char *, const char *, size_t))                                                                \
    X(strncat, char *, (char *, const char *, size_t))                                                                \
    X(strdup, char *, (const char *))                                                                                 \
    X(strndup, char *, (const char *, size_t))                                                                        \
    X(wmemcpy, wchar_t *, (wchar_t *, const wchar_t *, size_t))                                                       \
    X(wmemmove, wchar_t *, (wchar_t *, const wchar_t *, size_t))                                                      \
    X(wmemset, wchar_t *, (wchar_t *, wchar_t, size_t))                                                               \
    X(wcslen, size_t, (const wchar_t *))                                                                              \
    X(wcscpy, wchar_t *, (wchar_t *, const wchar_t *))                                                                \
    X(wmempcpy, wchar_t *, (wchar_t *, const wchar_t *, size_t))                                                      \
    X(wmemchr, wchar_t *, (const wchar_t *, wchar_t, size_t))                                                         \
    X(wmemcmp, int, (const wchar_t *, const wchar_t *, size_t))                                                       \
    X(wcsnlen, size_t, (const wchar_t *, size_t))                                                                     \
    X(wcscmp, int, (const wchar_t *, const wchar_t *))                                                                \
    X(wcsncmp, int, (const wchar_t *, const wchar_t *, size_t))                                                       \
    X(wcschr, wchar_t *, (const wchar_t *, wchar_t))                                                                  \
    X(wcsrchr, wchar_t *, (const wchar_t *, wchar_t))                                                                 \
    X(wcsstr, wchar_t *, (const wchar_t *, const wchar_t *))                                                          \
    X(wcpcpy, wchar_t *, (wchar_t *, const wchar_t *))                                                                \
    X(wcsncpy, wchar_t *, (wchar_t *, const wchar_t *, size_t))                                                       \
    X(wcscat, wchar_t *, (wchar_t *, const wchar_t *))                                                                \
    X(wcsncat, wchar_t *, (wchar_t *, const wchar_t *, size_t))                                                       \
    X(wcsdup, wchar_t *, (const wchar_t *))                                                                           \
    X(__wmemcpy_chk, wchar_t *, (wchar_t *, const wchar_t *, size_t, size_t))                                         \
    X(__wmemmove_chk, wchar_t *, (wchar_t *, const wchar_t *, size_t, size_t))                                        \
    X(__wmempcpy_chk, wchar_t *, (wchar_t *, const wchar_t *, size_t, size_t))                                        \
    X(__wcsncpy_chk, wchar_t *, (wchar_t *, const wchar_t *, size_t, size_t))                                         \
    X(__wcsncat_chk, wchar_t *, (wchar_t *, const wchar_t *, size_t, size_t))                                         \
    X(__wmemset_chk, wchar_t *, (wchar_t *, wchar_t, size_t, size_t))                                                 \
    X(__wcscpy_chk, wchar_t *, (wchar_t *, const wchar_t *, size_t))                                                  \
    X(__wcpcpy_chk, wchar_t *, (wchar_t *, const wchar_t *, size_t))                                                  \
    X(__wcscat_chk, wchar_t *, (wchar_t *, const wchar_t *, size_t))                                                  \
    X(__memcpy_chk, void *, (void *, const void *, size_t, size_t))                                                   \
    X(__memmove_chk, void *, (void *, const void *, size_t, size_t))                                                  \
    X(__mempcpy_chk, void *, (void *, const void *, size_t, size_t))                                                  \
    X(__memset_chk, void *, (void *, int, size_t, size_t))                                                            \
    X(__strcpy_chk, char *, (char *, const char *, size_t))                                                           \
    X(__strcat_chk, char *, (char *, const char *, size_t))                                                           \
    X(__stpcpy_chk, char *, (char *, const char *, size_t))                                                           \
    X(__strncpy_chk, char *, (char *, const char *, size_t, size_t))                                                  \
    X(__stpncpy_chk, char *, (char *, const char *, size_t, size_t))                                                  \
    X(__strncat_chk, char *, (char *, const char *, size_t, size_t))                                                  \
    X(__explicit_bzero_chk, void, (void *, size_t, size_t))                                                           \
    X(read, ssize_t, (int, void *, size_t))                                                                           \
    X(write, ssize_t, (int, const void *, size_t))                                                                    \
    X(pread, ssize_t, (int, void *, size_t, off_t))                                                                   \
    X(pwrite, ssize_t, (int, const void *, size_t, off_t))                                                            \
    X(readv, ssize_t, (int, const struct iovec *, int))                                                               \
    X(writev, ssize_t, (int, const struct iovec *, int))                                                              \
    X(recv, ssize_t, (int, void *, size_t, int))                                                                      \
    X(send, ssize_t, (int, const void *, size_t, int))                                                                \
    X(fread, size_t, (void *, size_t, size_t, FILE *))                                                                \
    X(fwrite, size_t, (const void *, size_t, size_t, FILE *))                                                         \
    X(preadv, ssize_t, (int, const struct iovec *, int, off_t))                                                       \
    X(pwritev, ssize_t, (int, const struct iovec *, int, off_t))                                                      \
    X(recvfrom, ssize_t, (int, void *, size_t, int, struct sockaddr *, socklen_t *))                                  \
    X(sendto, ssize_t, (int, const void *, size_t, int, const struct sockaddr *, socklen_t))                          \
    X(recvmsg, ssize_t, (int, struct msghdr *, int))                                                                  \
    X(sendmsg, ssize_t, (int, const struct msghdr *, int))                                                            \
    X(fgets, char *, (char *, int, FILE *))                                                                           \
    X(fputs, int, (const char *, FILE *))                                                                             \
    X(dlclose, int, (void *))                                                                                         \
    X(sigaction, int, (int, const struct sigaction *, struct sigaction *))                                            \
    X(longjmp, void, (jmp_buf, int))                                                                                  \
    X(siglongjmp, void, (sigjmp_buf, int))                                                                            \
    X(__longjmp_chk, void, (jmp_buf, int))                                                                            \
    X(fork, pid_t, (void))                                                                                            \
    X(homenode_svm_threads, unsigned, (void))                                                                         \
    X(homenode_shared_alloc_for, void *, (size_t, size_t))                                                            \
    X(homenode_shared_free, void, (void *, size_t))
