/* Uses memory in every way that sampling by protection could disturb, for some seconds, and checks every byte:
 * `everything SECONDS`. Prints "ok ROUNDS". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES ((size_t)1 << 20)
#define CHECK(what)                                                                                                   \
    do {                                                                                                              \
        if (!(what)) {                                                                                                \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #what, strerror(errno));                                   \
            abort();                                                                                                  \
        }                                                                                                             \
    } while (0)

static unsigned char global[BYTES];
static atomic_bool over;
static atomic_ulong alarms, rounds;
extern char **environ;

static void fill(unsigned char *p, size_t n, unsigned seed) {
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(i * 7 + i / 4096 + seed);
}

static void verify(const unsigned char *p, size_t n, unsigned seed) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(i * 7 + i / 4096 + seed)) {
            fprintf(stderr, "byte %zu of %p is wrong\n", i, (const void *)p);
            abort();
        }
}

static void files(unsigned char *a, unsigned char *b, unsigned seed) {
    int fd = memfd_create("everything", 0);
    CHECK(fd >= 0);
    fill(a, BYTES, seed);
    CHECK(write(fd, a, BYTES) == (ssize_t)BYTES);
    CHECK(pread(fd, b, BYTES, 0) == (ssize_t)BYTES);
    verify(b, BYTES, seed);
    struct iovec v[3] = {{b, 5000}, {b + 70000, 300000}, {b + 5000, 65000}};
    CHECK(preadv(fd, v, 3, 0) == 370000);
    verify(b, 5000, seed);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, v, 1) == 5000 && pwritev(fd, v, 1, 0) == 5000);
    struct stat *s = (struct stat *)(b + 8192);
    CHECK(fstat(fd, s) == 0 && s->st_size == (off_t)BYTES);
    char *path = (char *)b + 16384;
    strcpy(path, "/proc/self/stat");
    CHECK(access(path, R_OK) == 0 && stat(path, s) == 0);
    /* More random bytes may be cut short by a signal. */
    CHECK(getrandom(b, 256, 0) == 256 && getcwd((char *)b, BYTES) != NULL);
    close(fd);
}

static void streams(unsigned char *a, unsigned char *b, unsigned seed) {
    FILE *f = tmpfile();
    CHECK(f);
    CHECK(setvbuf(f, (char *)b, _IOFBF, BYTES / 2) == 0);
    fill(a, BYTES, seed);
    CHECK(fwrite(a, 1, BYTES, f) == BYTES && fflush(f) == 0);
    rewind(f);
    memset(a, 0, BYTES);
    CHECK(fread(a, 1, BYTES, f) == BYTES);
    verify(a, BYTES, seed);
    fclose(f);
}

struct pipe_end {
    int fd;
    unsigned char *to;
};

static void *reader(void *argument) {
    struct pipe_end *e = argument;
    size_t got = 0;
    while (got < BYTES) {
        ssize_t n = recv(e->fd, e->to + got, BYTES - got, 0);
        CHECK(n > 0 || errno == EINTR);
        got += n > 0 ? (size_t)n : 0;
    }
    return NULL;
}

/* Waits inside recv while the pages of its buffer are to be left alone. */
static void sockets(unsigned char *a, unsigned char *b, unsigned seed) {
    int s[2];
    pthread_t t;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    struct pipe_end e = {s[0], b};
    CHECK(pthread_create(&t, NULL, reader, &e) == 0);
    fill(a, BYTES, seed);
    for (size_t at = 0; at < BYTES;) {
        struct iovec v = {a + at, BYTES - at < 60000 ? BYTES - at : 60000};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
        ssize_t n = at % 2 ? sendmsg(s[1], &m, 0) : send(s[1], v.iov_base, v.iov_len, 0);
        CHECK(n > 0 || errno == EINTR);
        at += n > 0 ? (size_t)n : 0;
        if (at % 5 == 0)
            usleep(500);
    }
    CHECK(pthread_join(t, NULL) == 0);
    verify(b, BYTES, seed);
    struct pollfd *p = (struct pollfd *)b;
    *p = (struct pollfd){s[0], POLLIN, 0};
    int n = poll(p, 1, 2);
    CHECK(n == 0 || errno == EINTR);
    fd_set *set = (fd_set *)(b + 4096);
    struct timeval *wait = (struct timeval *)(b + 65536);
    FD_ZERO(set);
    *wait = (struct timeval){0, 1000};
    CHECK(select(1, set, NULL, NULL, wait) == 0 || errno == EINTR);
    int ep = epoll_create1(0);
    struct epoll_event *event = (struct epoll_event *)(b + 12288);
    *event = (struct epoll_event){.events = EPOLLOUT, .data = {.u64 = 42}};
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, s[1], event) == 0);
    CHECK(epoll_wait(ep, event, 8, 100) == 1 && event->data.u64 == 42);
    close(ep), close(s[0]), close(s[1]);
}

static void mappings(unsigned seed) {
    unsigned char *m = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(m != MAP_FAILED);
    fill(m, BYTES, seed);
    usleep(3000);
    CHECK(mprotect(m, BYTES / 2, PROT_READ) == 0);
    verify(m, BYTES, seed);
    CHECK(mprotect(m, BYTES / 2, PROT_READ | PROT_WRITE) == 0);
    m = mremap(m, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
    CHECK(m != MAP_FAILED);
    verify(m, BYTES, seed);
    fill(m, 2 * BYTES, seed + 1);
    CHECK(madvise(m + BYTES, 8192, MADV_DONTNEED) == 0 && m[BYTES] == 0 && m[BYTES + 8191] == 0);
    CHECK(mmap(m + 65536, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == m + 65536);
    CHECK(m[65536] == 0);
    verify(m, 65536, seed + 1);
    CHECK(munmap(m, BYTES) == 0 && munmap(m + BYTES, BYTES) == 0);
    unsigned char *h = malloc(BYTES);
    fill(h, BYTES, seed);
    usleep(3000);
    h = realloc(h, 3 * BYTES);
    verify(h, BYTES, seed);
    h = realloc(h, BYTES / 2);
    verify(h, BYTES / 2, seed);
    free(h);
}

static void children(unsigned char *a, unsigned char *b, unsigned seed) {
    int status;
    fill(a, BYTES, seed);
    usleep(2000);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        verify(a, BYTES, seed);
        fill(b, BYTES, seed);
        int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY);
        _exit(write(null, a, BYTES) == (ssize_t)BYTES && read(zero, b, BYTES) == (ssize_t)BYTES ? 7 : 8);
    }
    int *result = (int *)(b + 40960);
    while (waitpid(pid, result, 0) != pid)
        CHECK(errno == EINTR);
    CHECK(WIFEXITED(*result) && WEXITSTATUS(*result) == 7);
    char *arguments[] = {"sh", "-c", "exit 5", NULL};
    CHECK(posix_spawnp(&pid, "sh", NULL, NULL, arguments, environ) == 0);
    while (waitpid(pid, &status, 0) != pid)
        CHECK(errno == EINTR);
    CHECK(WEXITSTATUS(status) == 5);
    pid = vfork();
    if (pid == 0) {
        b[0] = 33;
        _exit(a[1] == (unsigned char)(7 + seed) ? 6 : 9);
    }
    while (waitpid(pid, &status, 0) != pid)
        CHECK(errno == EINTR);
    CHECK(WEXITSTATUS(status) == 6 && b[0] == 33);
    verify(a, BYTES, seed);
}

/* ---- signals ------------------------------------------------------------------------------------------------------- */

static unsigned char *in_handler;

static void on_alarm(int signal) {
    int saved = errno;
    alarms++;
    if (in_handler) {
        int fd = open("/dev/zero", O_RDONLY);
        CHECK(fd >= 0 && read(fd, in_handler + alarms % 128 * 4096, 5000) == 5000);
        close(fd);
    }
    (void)signal;
    errno = saved;
}

static __thread sigjmp_buf back;
static __thread volatile int expected;

static void on_segv(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context, (void)info;
    CHECK(expected);
    expected = 0;
    siglongjmp(back, 1);
}

static void own_faults(unsigned char *hole) {
    expected = 1;
    if (sigsetjmp(back, 1) == 0) {
        *(volatile unsigned char *)hole = 1;
        abort();
    }
    CHECK(!expected);
    expected = 1;
    if (sigsetjmp(back, 1) == 0) {
        *(volatile unsigned char *)64 = 1;
        abort();
    }
    CHECK(!expected);
}

static void masks(unsigned char *a) {
    sigset_t *set = (sigset_t *)a, *old = (sigset_t *)(a + 65536);
    sigfillset(set);
    CHECK(pthread_sigmask(SIG_BLOCK, set, old) == 0);
    fill(a + 4096, 4096 * 8, 3); /* faults although everything is blocked */
    CHECK(pthread_sigmask(SIG_SETMASK, old, NULL) == 0);
    errno = 0;
    CHECK(read(-1, a, 10) == -1 && errno == EBADF);
    int fd = open("/dev/zero", O_RDONLY);
    CHECK(read(fd, (void *)64, 10) == -1 && errno == EFAULT);
    close(fd);
}

/* ---- threads ------------------------------------------------------------------------------------------------------- */

static void *on_given_stack(void *argument) {
    volatile unsigned char deep[20000];
    memset((void *)deep, 1, sizeof deep);
    usleep(1000);
    return argument;
}

static void given_stack(void) {
    pthread_attr_t attributes;
    pthread_t t;
    void *result, *stack = NULL;
    CHECK(posix_memalign(&stack, 4096, 262144) == 0);
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstack(&attributes, stack, 262144) == 0);
    CHECK(pthread_create(&t, &attributes, on_given_stack, &alarms) == 0);
    CHECK(pthread_join(t, &result) == 0 && result == &alarms);
    pthread_attr_destroy(&attributes);
    free(stack);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static unsigned long shared_count;

static void waiting(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000)
        until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&mutex);
    shared_count++;
    pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

static void *worker(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument * 31;
    unsigned char *a = malloc(BYTES), *b = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(a && b != MAP_FAILED);
    while (!over) {
        files(a, b, ++seed);
        streams(a, b, ++seed);
        sockets(a, b, ++seed);
        mappings(++seed);
        own_faults(hole);
        masks(a);
        given_stack();
        waiting();
        if (argument == NULL)
            children(a, b, ++seed);
        fill(a, BYTES, ++seed);
        verify(a, BYTES, seed);
        rounds++;
    }
    munmap(b, BYTES);
    free(a);
    return NULL;
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    pthread_t t[3];
    struct sigaction alarm_action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigfillset(&alarm_action.sa_mask);
    CHECK(sigaction(SIGALRM, &alarm_action, NULL) == 0);
    struct sigaction fault_action = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO}, seen;
    CHECK(sigaction(SIGSEGV, &fault_action, NULL) == 0 && sigaction(SIGSEGV, NULL, &seen) == 0);
    CHECK(seen.sa_sigaction == on_segv);
    in_handler = malloc(BYTES);
    struct itimerval every = {{0, 3000}, {0, 3000}};
    setitimer(ITIMER_REAL, &every, NULL);
    for (long i = 0; i < 3; i++)
        CHECK(pthread_create(&t[i], NULL, worker, (void *)i) == 0);
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        fill(global, BYTES, (unsigned)rounds);
        verify(global, BYTES, global[0]);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
    over = true;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(t[i], NULL) == 0);
    CHECK(alarms > 0);
    printf("ok %lu\n", rounds);
    return 0;
}
