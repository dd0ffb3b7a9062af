/* Every way to obtain memory, and the stack of calls that led there. */
#include "expect.h"

#include <malloc.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

UNRECORDED static void got(const void *p, unsigned long bytes) {
    printf("alloc %#lx %lu 0\n", (unsigned long)p, bytes);
}

UNRECORDED static void gave(const void *p) {
    printf("free %#lx\n", (unsigned long)p);
}

/* Compilers know that a pointer given back is dead; ours must still be printable. */
UNRECORDED static void give(void *p) {
    gave(p);
    free(p);
}

static void heap(void) {
    void *p = malloc(100), *q;
    got(p, 100);
    give(p);
    p = calloc(3, 7);
    got(p, 21);
    uintptr_t old = (uintptr_t)p;
    HIDE(old);
    q = realloc(p, 100000);
    gave((void *)old);
    printf("realloc %#lx %#lx\n", old, (uintptr_t)q);
    got(q, 100000);
    give(q);
    if (posix_memalign(&p, 64, 10))
        exit(1);
    got(p, 10);
    q = aligned_alloc(4096, 8192);
    got(q, 8192);
    free(NULL);
    p = memalign(128, 5);
    got(p, 5);
    p = valloc(6);
    got(p, 6);
}

static void maps(void) {
    void *p = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("map %#lx 10000 3 0\nalloc %#lx 10000 2\n", (unsigned long)p, (unsigned long)p);
    printf("unmap %#lx 10000\n", (unsigned long)p);
    munmap(p, 10000);
    int fd = fileno(tmpfile());
    if (ftruncate(fd, 4096))
        exit(1);
    homenode_phase_end("allocs");
    homenode_phase_begin("maps");
    p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    struct stat file;
    fstat(fd, &file);
    printf("map %#lx 4096 1 %lu\n", (unsigned long)p, (unsigned long)file.st_ino);
    p = homenode_shared_alloc(100);
    printf("alloc %#lx 100 3\n", (unsigned long)p);
    memset(p, 0, 100);
    gave(p);
    homenode_shared_free(p, 100);
}

static jmp_buf back;

static NOINLINE void *deep(int n) {
    if (n == 0)
        return malloc(12345);
    void *p = deep(n - 1);
    HIDE(p);
    return p;
}

static NOINLINE int jump(int n) {
    if (n < 0)
        return n;
    if (n == 0)
        longjmp(back, 1);
    int below = jump(n - 1);
    HIDE(below);
    return below;
}

int main(void) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    printf(" ");
    homenode_phase_begin("allocs");
    heap();
    maps();
    homenode_phase_end("maps");
    for (int i = 0; i < 40; i++) /* jumps over frames must not pile up */
        if (!setjmp(back))
            jump(20);
    homenode_phase_begin("deep");
    void *p = deep(3), *q = deep(100);
    homenode_phase_end("deep");
    return !p || !q;
}
