/* Allocators of the program's own, under names that say nothing: those that return what they allocated, and those that do
 * not. Lines are found by their marks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALONE __attribute__((noinline))

ALONE static void give_up(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

ALONE static void *plain(size_t n) {
    void *p = calloc(1, n); /* line: in plain */
    if (!p)
        abort();
    return p;
}

ALONE static void *passed(void *p) {
    if (!p)
        give_up("memory");
    return p;
}

ALONE static void *twice(size_t n) {
    return passed(plain(n + 16));
}

ALONE static void *cleared(size_t n) {
    if (n == 0)
        return NULL;
    void *p = malloc(n); /* line: in cleared */
    if (!p)
        give_up("memory");
    memset(p, 0, n);
    return p;
}

ALONE static void *aligned(size_t n) {
    void *p = NULL;
    if (posix_memalign(&p, 64, n)) /* line: in aligned */
        return NULL;
    return p;
}

ALONE static void *behind_header(size_t n) {
    size_t *p = malloc(n + 16); /* line: in header */
    *p = n;
    return p + 2;
}

static inline __attribute__((always_inline)) void *inlined(size_t n) {
    void *p = malloc(n); /* line: in inlined */
    if (!p)
        give_up("memory");
    return p;
}

struct pool {
    char *chunk;
    size_t used, size;
};

ALONE static void *piece(struct pool *p, size_t n) {
    if (p->used + n > p->size) {
        p->chunk = malloc(p->size); /* line: chunk */
        p->used = 0;
    }
    void *q = p->chunk + p->used;
    p->used += n;
    return q;
}

struct matrix {
    volatile int *data;
    int n;
};

ALONE static struct matrix *make(int n) {
    struct matrix *m = malloc(sizeof *m); /* line: in make */
    m->n = n;
    m->data = malloc((unsigned)n * sizeof *m->data); /* line: data */
    return m;
}

static volatile int *a, *b, *c, *d, *e, *f, *g, *h;
static struct matrix *m;

static void *work(void *number) {
    long t = (long)number;
    for (int i = 0; i < 100; i++) {
        a[t]++, b[t]++, c[t]++, d[t]++, e[t]++, f[t]++, g[t]++, h[t]++;
        m->data[t]++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    unsigned long n = 96 + (unsigned long)argc;
    struct pool p = {.used = 65536, .size = 65536};
    (void)argv;
    a = plain(n);         /* line: a */
    b = plain(n + 1);     /* line: b */
    c = twice(n);         /* line: c */
    d = cleared(n);       /* line: d */
    e = aligned(n);       /* line: e */
    f = behind_header(n); /* line: f */
    g = inlined(n);       /* line: g */
    h = piece(&p, n);     /* line: h */
    m = make(100);        /* line: m */
    pthread_t t[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    printf("%d\n", a[0] + b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0]);
    return 0;
}
