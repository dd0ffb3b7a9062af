/* Two processes. Argument 1: what memory they have (memfd, shm, moved: as memfd, then moved; segment, anonymous, alloc,
 * private); argument 2: what they do with it (halves, mutex, semaphore, named, barrier, atomic). With shm the second process is
 * another program: this one again. */
#define _GNU_SOURCE
#include "homenode.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define ITEMS 200

struct work {
    pthread_mutex_t mutex;
    pthread_barrier_t barrier;
    sem_t full, empty;
    atomic_int ready;
    int made; /* items, under the mutex */
    long items[ITEMS];
};

/* Two pages: what is worked on, and how they come together. */
static struct work *with;
static volatile long *page;

static void *need(void *p) {
    if (p == MAP_FAILED || !p)
        exit(3);
    return p;
}

static void map_shared(int fd, int second) {
    if (second) /* at another address than the first process */
        need(mmap(NULL, 64 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    page = need(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    with = need(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE));
}

static void attach(int id, int second) {
    if (second)
        need(mmap(NULL, 64 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    page = need(shmat(id, NULL, 0));
    with = (struct work *)(page + PAGE / sizeof *page);
}

static void *moved(volatile void *from, char *to) {
    void *now = need(mremap((void *)from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to));
    /* Where it was nothing else may come to lie: an address that was two things is this process's own. */
    need(mmap((void *)from, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    return now;
}

/* Moves both pages to where nothing was before. */
static void move(void) {
    char *to = need(mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    page = moved(page, to);
    with = moved(with, to + PAGE);
}

static void prepare(void) {
    pthread_mutexattr_t m;
    pthread_barrierattr_t b;
    pthread_mutexattr_init(&m);
    pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&with->mutex, &m);
    pthread_barrierattr_init(&b);
    pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&with->barrier, &b, 2);
    sem_init(&with->full, 1, 0);
    sem_init(&with->empty, 1, 1);
}

__attribute__((noinline)) static void produce(int i) {
    struct work *w = with;
    w->items[i] = i + 1; /* line: produce */
}

__attribute__((noinline)) static void consume(int i) {
    struct work *w = with;
    if (w->items[i] != i + 1)
        exit(4);
}

static void by_mutex(int second) {
    for (int i = 0; i < ITEMS;) {
        pthread_mutex_lock(&with->mutex);
        if (!second) {
            produce(i++);
            with->made = i;
        } else
            for (; i < with->made; i++)
                consume(i);
        pthread_mutex_unlock(&with->mutex);
        if (second)
            usleep(200);
    }
}

static void by_semaphores(int second, sem_t *full, sem_t *empty) {
    for (int i = 0; i < ITEMS; i++) {
        sem_wait(second ? full : empty);
        second ? consume(i) : produce(i);
        sem_post(second ? empty : full);
    }
}

/* Of the process that was there first. */
static sem_t *named(pid_t of, const char *what, unsigned value) {
    char name[64];
    snprintf(name, sizeof name, "/homenode-test-%d-%s", (int)of, what);
    sem_t *s = sem_open(name, O_CREAT, 0600, value);
    if (s == SEM_FAILED)
        exit(5);
    return s;
}

static void by_named(int second) {
    pid_t of = second ? getppid() : getpid();
    sem_t *full = named(of, "full", 0), *empty = named(of, "empty", 1);
    by_semaphores(second, full, empty);
    if (sem_close(full) || sem_close(empty))
        exit(6);
}

static void forget_names(void) {
    char name[64];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "/homenode-test-%d-%s", (int)getpid(), i ? "full" : "empty");
        sem_unlink(name);
    }
}

static void by_barrier(int second) {
    for (int i = 0; i < ITEMS; i++) {
        if (!second)
            produce(i);
        pthread_barrier_wait(&with->barrier);
        if (second)
            consume(i);
    }
}

static void by_atomic(int second) {
    for (int i = 0; i < ITEMS; i++) {
        if (!second) {
            produce(i);
            atomic_store(&with->ready, i + 1);
        } else {
            while (atomic_load(&with->ready) <= i)
                usleep(50);
            consume(i);
        }
    }
}

static void act(const char *what, int second) {
    volatile long *half = page + (second ? 256 : 0);
    if (!strcmp(what, "halves"))
        for (int round = 0; round < 20; round++)
            for (int i = 0; i < 8; i++)
                half[i]++; /* line: halves */
    if (!strcmp(what, "mutex"))
        by_mutex(second);
    if (!strcmp(what, "semaphore"))
        by_semaphores(second, &with->full, &with->empty);
    if (!strcmp(what, "named"))
        by_named(second);
    if (!strcmp(what, "barrier"))
        by_barrier(second);
    if (!strcmp(what, "atomic"))
        by_atomic(second);
}

int main(int argc, char **argv) {
    const char *memory = argv[1], *what = argv[2];
    char name[64];
    if (argc > 3) {
        int fd = shm_open(argv[3], O_RDWR, 0);
        map_shared(fd, 1);
        act(what, 1);
        return 0;
    }
    int moves = !strcmp(memory, "moved"), segment = !strcmp(memory, "segment"), id = -1;
    int fd = -1, file = !strcmp(memory, "memfd") || !strcmp(memory, "shm") || moves;
    snprintf(name, sizeof name, "/homenode-test-%d", (int)getpid());
    if (file)
        fd = strcmp(memory, "shm") ? memfd_create("pages", 0) : shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file && ftruncate(fd, 2 * PAGE))
        return 3;
    if (segment) {
        id = shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0600);
        attach(id, 0);
        shmctl(id, IPC_RMID, NULL);
    } else if (!strcmp(memory, "alloc"))
        page = need(homenode_shared_alloc(2 * PAGE));
    else if (!file)
        page = need(mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
                         MAP_ANONYMOUS | (strcmp(memory, "private") ? MAP_SHARED : MAP_PRIVATE), -1, 0));
    if (file)
        map_shared(fd, 0);
    else if (!segment)
        with = (struct work *)(page + PAGE / sizeof *page);
    prepare();
    pid_t child = fork();
    if (child == 0) {
        if (!strcmp(memory, "shm"))
            execl("/proc/self/exe", "shared", memory, what, name, (char *)NULL);
        if (file) {
            munmap((void *)page, PAGE);
            munmap(with, PAGE);
            map_shared(fd, 1);
        }
        if (segment) {
            void *before = (void *)page;
            attach(id, 1);
            shmdt(before);
            /* As in `moved`: the named semaphores would come to lie there. */
            need(mmap(before, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
        }
        if (moves)
            move();
        act(what, 1);
        _exit(0);
    }
    act(what, 0);
    int status = 1;
    waitpid(child, &status, 0);
    if (!strcmp(memory, "shm"))
        shm_unlink(name);
    forget_names();
    return WEXITSTATUS(status);
}
