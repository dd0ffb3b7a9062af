/* Small objects of two kinds, interleaved; what is asked to be grouped, and everything an allocator must do. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>

#include "where.h"

enum { OBJECTS = 20000, BYTES = 56 };
struct node {
    struct node *next;
    unsigned long value[6];
};

static NOINLINE struct node *hot(void) {
    struct node *n = malloc(BYTES);
    HIDE(n);
    return n;
}

static NOINLINE struct node *cold(void) {
    struct node *n = calloc(1, BYTES);
    HIDE(n);
    return n;
}

static struct node *push(struct node *list, struct node *n, unsigned long value) {
    n->next = list;
    for (int i = 0; i < 6; i++)
        n->value[i] = value + i;
    return n;
}

static void check(struct node *list, unsigned long value) {
    for (; list; list = list->next, value--)
        for (int i = 0; i < 6; i++)
            if (list->value[i] != value + i)
                abort();
}

static void *drop(void *list) {
    for (struct node *n = list, *next; n; n = next) {
        next = n->next;
        free(n);
    }
    return NULL;
}

static void resized(void) {
    for (size_t bytes = 1; bytes < 20000; bytes = bytes * 3 + 1) {
        unsigned char *p = (unsigned char *)hot();
        memset(p, 7, BYTES);
        p = realloc(p, bytes);
        for (size_t i = 0; i < bytes && i < BYTES; i++)
            if (p[i] != 7)
                abort();
        if (malloc_usable_size(p) < bytes)
            abort();
        memset(p, 8, malloc_usable_size(p));
        free(p);
    }
    if (realloc(hot(), 0) != NULL)
        abort();
    errno = 77;
    free(hot());
    if (errno != 77)
        abort();
}

static void *worker(void *list) {
    resized();
    return drop(list);
}

int main(void) {
    struct node *a = NULL, *b = NULL;
    for (int round = 0; round < 3; round++) {
        a = b = NULL;
        for (unsigned long i = 0; i < OBJECTS; i++) {
            a = push(a, hot(), i);
            struct node *n = cold();
            for (int j = 0; j < 6; j++)
                if (n->value[j])
                    abort();
            b = push(b, n, i);
        }
        check(a, OBJECTS - 1);
        check(b, OBJECTS - 1);
        where("hot", a, BYTES);
        where("hot-first", a->next->next, BYTES);
        where("cold", b, BYTES);
        pthread_t t;
        pthread_create(&t, NULL, worker, a);
        drop(b);
        resized();
        pthread_join(t, NULL);
    }
    return 0;
}
