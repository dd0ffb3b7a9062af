/* What shared virtual memory promises to programs, a subcommand each; the status is 0 if it holds.
 *   shared COMMAND [FILE]     with FILE, stderr goes there, or it is the file to work on */
#include <errno.h>
#include <fcntl.h>
#include <homenode.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define ROUNDS 40u

static const char *path;
static unsigned threads;

struct shared {
    unsigned long counter, own[64];
    unsigned wrong;
    unsigned char *bytes;
    uint64_t *words;
};
static struct shared *s;

static void fail(const char *what) {
    fprintf(stderr, "thread %u: %s\n", homenode_thread(), what);
    exit(3);
}

static void meet(void) {
    homenode_barrier(&s->counter, threads);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs `body` on all threads, this one included. */
static void everywhere(void (*body)(void *)) {
    for (unsigned t = 1; t < threads; t++)
        homenode_create(body, (void *)(uintptr_t)t);
    body(NULL);
    homenode_join();
}

static void count(void *argument) {
    if ((uintptr_t)argument != homenode_thread())
        fail("a thread has another number than it was created with");
    for (unsigned i = 0; i < 300; i++) {
        homenode_lock(s);
        s->counter++;
        homenode_unlock(s);
        s->own[homenode_thread()]++;
    }
}

static void phases(void *argument) {
    unsigned me = homenode_thread();
    (void)argument;
    for (unsigned long round = 1; round <= ROUNDS; round++) {
        s->own[me] = round * 1000 + me;
        meet();
        for (unsigned t = 0; t < threads; t++)
            if (s->own[t] != round * 1000 + t)
                fail("what was written before a barrier is not seen after it");
        meet();
    }
}

/* Bytes and words of the same pages, dealt out one by one. */
static void sharing(void *argument) {
    unsigned me = homenode_thread();
    (void)argument;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (size_t i = me; i < 2 * PAGE; i += threads)
            s->bytes[i] = (unsigned char)(i * 7 + round);
        for (size_t i = me; i < PAGE / 8; i += threads)
            s->words[i] = i * 1000 + round;
        meet();
        for (size_t i = 0; i < 2 * PAGE; i++)
            if (s->bytes[i] != (unsigned char)(i * 7 + round))
                fail("a byte was lost beside bytes of other nodes");
        for (size_t i = 0; i < PAGE / 8; i++)
            if (s->words[i] != i * 1000 + round)
                fail("a word was lost beside words of other nodes");
        meet();
    }
}

/* The last thread computes, with allocations, while the first one takes pages whose home is there. */
static void busy(void *argument) {
    unsigned me = homenode_thread();
    (void)argument;
    if (me == threads - 1)
        memset(s->bytes, 5, 64 * PAGE);
    meet();
    if (me == 0)
        for (unsigned page = 0; page < 64; page++)
            if (s->bytes[page * PAGE] != 5)
                fail("a page came without what its home wrote");
    if (me == threads - 1)
        for (double until = seconds() + 0.2; seconds() < until;) {
            char *memory = malloc(100 + (size_t)(seconds() * 1e9) % 5000);
            memory[50] = 1;
            free(memory);
        }
    meet();
}

/* Each thread reads a file into shared memory that it has never touched, and writes what another one read. */
static void io(void *argument) {
    unsigned me = homenode_thread();
    unsigned char *mine = s->bytes + me * 4 * PAGE, *next = s->bytes + (me + 1) % threads * 4 * PAGE;
    char name[4096];
    (void)argument;
    int file = open(path, O_RDONLY);
    struct iovec parts[2] = {{mine + 2 * PAGE, PAGE}, {mine + 3 * PAGE, PAGE}};
    if (file < 0 || read(file, mine, PAGE) != PAGE || pread(file, mine + PAGE, PAGE, PAGE) != PAGE ||
        lseek(file, 2 * PAGE, SEEK_SET) < 0 || readv(file, parts, 2) != 2 * PAGE)
        fail("a file cannot be read into shared memory");
    close(file);
    meet();
    snprintf(name, sizeof name, "%s.%u", path, me);
    FILE *out = fopen(name, "w+");
    if (!out || fwrite(next, PAGE, 4, out) != 4 || fflush(out))
        fail("shared memory cannot be written to a file");
    meet();
    memset(next, 0, 4 * PAGE);
    meet();
    rewind(out);
    if (fread(mine, PAGE, 4, out) != 4)
        fail("a stream cannot be read into shared memory");
    fclose(out);
    meet();
    for (size_t i = 0; i < 4 * PAGE; i++)
        if (next[i] != (unsigned char)(i / 16))
            fail("a file came out otherwise than it was");
}

static void leave(void *argument) {
    if (argument)
        exit(9);
    meet();
}

/* Never ends by itself; FILE gets the processes of the nodes. */
static void forever(void *argument) {
    (void)argument;
    s->own[homenode_thread()] = (unsigned long)getpid();
    meet();
    if (homenode_thread() == 0) {
        FILE *out = fopen(path, "w");
        for (unsigned t = 0; t < threads; t++)
            fprintf(out, "%lu\n", s->own[t]);
        fclose(out);
    }
    meet(); /* nobody counts before all processes are written down */
    for (;;) {
        s->own[homenode_thread()]++;
        meet();
    }
}

static void few(void *argument) {
    (void)argument;
    homenode_barrier(s, threads - 1);
}

static void unheld(void *argument) {
    (void)argument;
    homenode_unlock(s);
}

static void nothing(void *argument) {
    (void)argument;
}

static int memory(void) {
    unsigned char *first = homenode_shared_alloc(3 * PAGE + 5);
    if ((uintptr_t)first % PAGE)
        fail("memory is not aligned to pages");
    for (size_t i = 0; i < 3 * PAGE + 5; i++)
        if (first[i])
            fail("memory is not zeroed");
    memset(first, 1, 3 * PAGE + 5);
    homenode_shared_free(first, 3 * PAGE + 5);
    unsigned char *again = homenode_shared_alloc(3 * PAGE + 5), *other = homenode_shared_alloc(3 * PAGE + 5);
    if (again != first || other == again)
        fail("memory that was given back is not given out again, once");
    for (size_t i = 0; i < 3 * PAGE + 5; i++)
        if (again[i])
            fail("memory is not zeroed again");
    return homenode_shared_alloc((size_t)1 << 45) ? 1 : 0;
}

static int children(void) {
    /* A program that is started has neither the library nor its variable. */
    everywhere(nothing);
    return system("test -z \"$HOMENODE_SVM_JOB\" && ! grep -q homenode_svm /proc/self/maps && ! ls -l /proc/self/fd | grep -q 'homenode heap'");
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*body)(void *);
    } bodies[] = {{"count", count}, {"phases", phases}, {"sharing", sharing}, {"busy", busy}, {"io", io}, {"leave", leave}, {"forever", forever}, {"few", few}, {"unheld", unheld}};
    const char *command = argc > 1 ? argv[1] : "";
    path = argc > 2 ? argv[2] : NULL;
    threads = homenode_svm_threads ? homenode_svm_threads() : 0;
    alarm(100); /* a test that waits for ever says nothing */
    if (!strcmp(command, "status"))
        return threads ? 5 : 6;
    if (!threads)
        return 77;
    printf("once\n"); /* still in the buffer when nodes are forked */
    s = homenode_shared_alloc(sizeof *s);
    s->bytes = homenode_shared_alloc(64 * 4 * PAGE);
    s->words = homenode_shared_alloc(PAGE);
    if (!strcmp(command, "memory"))
        return memory();
    if (!strcmp(command, "children"))
        return children();
    if (path && (!strcmp(command, "few") || !strcmp(command, "unheld") || !strcmp(command, "many")) && !freopen(path, "w", stderr))
        return 78;
    if (!strcmp(command, "many"))
        for (unsigned t = 0; t < threads; t++)
            homenode_create(nothing, NULL);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        if (!strcmp(command, bodies[i].name))
            everywhere(bodies[i].body);
    if (!strcmp(command, "count")) {
        everywhere(count); /* threads can be created again after the others have been joined */
        if (s->counter != 600ul * threads)
            fail("an increment was lost");
        for (unsigned t = 0; t < threads; t++)
            if (s->own[t] != 600)
                fail("what a thread wrote is not seen after it has ended");
    }
    return 0;
}
