/* Objects of every kind, each obtained at a place of its own. */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "where.h"

#define MB (1ul << 20)
#define ALIGNED __attribute__((aligned(4096)))
char zero[32 * 4096] ALIGNED;
char initial[16 * 4096] ALIGNED = {1};
struct {
    char a[1024], b[3072];
} crumbs ALIGNED;

static NOINLINE void *obtain(size_t bytes) {
    void *p = malloc(bytes);
    HIDE(p);
    return p;
}

static void *worker(void *number) {
    char name[32], local = 1;
    int two = 2;
    HIDE(two);
    sched_yield();
    for (int i = 0; i < two; i++) {
        char *p = obtain(300000);
        sprintf(name, "worker%ld.%d", (long)number, i);
        memset(p, 1, 300000);
        where(name, p, 300000);
    }
    sprintf(name, "stack%ld", (long)number);
    where(name, &local, 1);
    return NULL;
}

static void huge(void) {
    char *p = mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    where("huge", p, 8 * MB);
    munmap(p, 8 * MB);
}

static void threads(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

static void resized(void) {
    char *p = malloc(200000);
    memset(p, 1, 200000);
    p = realloc(p, 2 * MB);
    where("grown", p, 2 * MB);
    p = realloc(p, 8 * MB);
    if (p[199999] != 1)
        abort();
    where("grown-again", p, 8 * MB);
    p = realloc(p, 100000);
    if (p[99999] != 1)
        abort();
    free(p);
}

static void remapped(void) {
    char *m = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < 4 * MB; i += 4096)
        m[i] = (char)(i >> 12);
    where("map", m, 4 * MB);
    m = mremap(m, 4 * MB, 6 * MB, MREMAP_MAYMOVE);
    if (m == MAP_FAILED)
        abort();
    for (size_t i = 0; i < 6 * MB; i += 4096)
        if (m[i] != (i < 4 * MB ? (char)(i >> 12) : 0))
            abort();
    munmap(m, 6 * MB);
}

int main(void) {
    char local = 1;
    int three = 3;
    void *aligned = NULL;
    HIDE(three);
    where("zero", zero, sizeof zero);
    where("initial", initial, sizeof initial);
    where("crumbs", &crumbs, sizeof crumbs);
    for (int i = 0; i < three; i++) {
        char *p = obtain(MB), name[16];
        sprintf(name, "heap%d", i);
        where(name, p, MB);
    }
    char *small = obtain(5000);
    where("small", small, 5000);
    where("cleared", calloc(1000, 1000), 1000000);
    if (posix_memalign(&aligned, 65536, MB) == 0)
        where("aligned", aligned, MB);
    where("page", aligned_alloc(4096, 20 * 4096), 20 * 4096);
    resized();
    remapped();
    huge();
    threads();
    where("stack", &local, 1);
    free(small);
    free(aligned);
    return 0;
}
