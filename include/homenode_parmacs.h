/* What the macros of parmacs.m4 expand to: PARMACS, the macros of Argonne National Laboratory in which the SPLASH programs are written, on
 * pthreads, and on the nodes of `homenode svm run`. Which of the two is asked at run time, so one binary does both. */
#ifndef HOMENODE_PARMACS_H
#define HOMENODE_PARMACS_H

#include <assert.h>
#include <homenode.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The macros of SPLASH-3 give its programs this, and some rely on it. */
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif

#define HN_PARMACS_THREADS 4096u /* most that a program creates */

/* State of the process; MAIN_ENV defines it. Nodes have what it was when the first thread was created. */
struct hn_parmacs {
    pthread_mutex_t mutex;
    pthread_t threads[HN_PARMACS_THREADS];
    unsigned created; /* threads that have not been waited for */
    char *piece;      /* shared memory that small allocations are cut from, */
    size_t left;      /* its bytes, */
    unsigned node;    /* and the node that took it */
};
extern struct hn_parmacs hn_parmacs;

static inline _Noreturn void hn_parmacs_die(const char *what) {
    fprintf(stderr, "parmacs: %s\n", what);
    exit(1);
}

/* Threads of all nodes; 0 without shared virtual memory. */
static inline unsigned hn_parmacs_svm(void) {
    return homenode_svm_threads ? homenode_svm_threads() : 0;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

#define HN_PARMACS_PIECE ((size_t)1 << 16)

/* Zeroed memory that all threads share; NULL if there is none. From a page on it begins with one. A macro, so that the line that
 * asks for it is the program's, with pthreads and on nodes alike: reports and plans know memory by that. */
#define hn_parmacs_alloc(bytes)                                                                                                     \
    __extension__({                                                                                                                 \
        size_t hn_parmacs_bytes = (size_t)(bytes);                                                                                  \
        !hn_parmacs_svm()          ? calloc(1, hn_parmacs_bytes ? hn_parmacs_bytes : 1)                                             \
        : hn_parmacs_bytes >= 4096 ? homenode_shared_alloc(hn_parmacs_bytes)                                                        \
                                   : hn_parmacs_small(hn_parmacs_bytes);                                                            \
    })

/* Less than a page of it, of all nodes'. */
static inline void *hn_parmacs_small(size_t bytes) {
    void *memory = NULL;
    bytes = bytes ? (bytes + 15) & ~(size_t)15 : 16;
    pthread_mutex_lock(&hn_parmacs.mutex);
    /* What is left of the piece belongs to the node that the process was forked from. */
    if (hn_parmacs.left < bytes || hn_parmacs.node != homenode_node()) {
        hn_parmacs.piece = (char *)homenode_shared_alloc(HN_PARMACS_PIECE);
        hn_parmacs.left = hn_parmacs.piece ? HN_PARMACS_PIECE : 0;
        hn_parmacs.node = homenode_node();
    }
    if (hn_parmacs.left >= bytes) {
        memory = hn_parmacs.piece;
        hn_parmacs.piece += bytes;
        hn_parmacs.left -= bytes;
    }
    pthread_mutex_unlock(&hn_parmacs.mutex);
    return memory;
}

/* Under shared virtual memory nothing is given back before the end of the program: sizes are not known here. */
static inline void hn_parmacs_free(void *memory) {
    if (!hn_parmacs_svm())
        free(memory);
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

typedef void hn_parmacs_body(void);

static inline void *hn_parmacs_thread(void *body) {
    union {
        void *address;
        hn_parmacs_body *body;
    } start = {body};
    start.body();
    return NULL;
}

static inline void hn_parmacs_svm_thread(void *body) {
    hn_parmacs_thread(body);
}

/* One more thread. */
static inline void hn_parmacs_create(hn_parmacs_body *body) {
    union {
        hn_parmacs_body *body;
        void *address;
    } start = {body};
    if (hn_parmacs_svm()) {
        homenode_create(hn_parmacs_svm_thread, start.address);
        return;
    }
    if (hn_parmacs.created == HN_PARMACS_THREADS)
        hn_parmacs_die("CREATE: too many threads");
    if (pthread_create(&hn_parmacs.threads[hn_parmacs.created], NULL, hn_parmacs_thread, start.address))
        hn_parmacs_die("CREATE: the system makes no more threads");
    hn_parmacs.created++;
}

/* So many threads, the calling one among them. */
static inline void hn_parmacs_run(hn_parmacs_body *body, long threads) {
    unsigned all = hn_parmacs_svm();
    if (all && threads != (long)all) {
        fprintf(stderr, "parmacs: CREATE: %ld threads where the nodes have %u: run the program with %u\n", threads, all, all);
        exit(1);
    }
    for (long t = 1; t < threads; t++)
        hn_parmacs_create(body);
    body();
}

/* Waits for all threads that were created. */
static inline void hn_parmacs_wait(void) {
    if (hn_parmacs_svm()) {
        homenode_join();
        return;
    }
    while (hn_parmacs.created)
        pthread_join(hn_parmacs.threads[--hn_parmacs.created], NULL);
}

/* ---- locks, conditions ------------------------------------------------------------------------------------------------ */

/* Under shared virtual memory all these are names: addresses. What is in them is for pthreads. */
typedef pthread_mutex_t hn_parmacs_lock;
typedef pthread_cond_t hn_parmacs_cond;

static inline void hn_parmacs_lock_init(hn_parmacs_lock *l) {
    if (!hn_parmacs_svm() && pthread_mutex_init(l, NULL))
        hn_parmacs_die("LOCKINIT: no lock can be made");
}

static inline void hn_parmacs_locks_init(hn_parmacs_lock *l, long count) {
    for (long i = 0; i < count; i++)
        hn_parmacs_lock_init(&l[i]);
}

static inline void hn_parmacs_take(hn_parmacs_lock *l) {
    if (hn_parmacs_svm())
        homenode_lock(l);
    else
        pthread_mutex_lock(l);
}

static inline void hn_parmacs_give(hn_parmacs_lock *l) {
    if (hn_parmacs_svm())
        homenode_unlock(l);
    else
        pthread_mutex_unlock(l);
}

static inline void hn_parmacs_cond_init(hn_parmacs_cond *c) {
    if (!hn_parmacs_svm() && pthread_cond_init(c, NULL))
        hn_parmacs_die("CONDVARINIT: no condition can be made");
}

static inline void hn_parmacs_cond_wait(hn_parmacs_cond *c, hn_parmacs_lock *l) {
    if (hn_parmacs_svm())
        homenode_cond_wait(c, l);
    else
        pthread_cond_wait(c, l);
}

static inline void hn_parmacs_signal(hn_parmacs_cond *c) {
    if (hn_parmacs_svm())
        homenode_cond_signal(c);
    else
        pthread_cond_signal(c);
}

static inline void hn_parmacs_broadcast(hn_parmacs_cond *c) {
    if (hn_parmacs_svm())
        homenode_cond_broadcast(c);
    else
        pthread_cond_broadcast(c);
}

/* ---- barriers --------------------------------------------------------------------------------------------------------- */

typedef struct {
    hn_parmacs_lock lock;
    hn_parmacs_cond opened;
    long come;
    unsigned long round;
} hn_parmacs_barrier;

static inline void hn_parmacs_barrier_init(hn_parmacs_barrier *b) {
    hn_parmacs_lock_init(&b->lock);
    hn_parmacs_cond_init(&b->opened);
    b->come = 0;
    b->round = 0;
}

static inline void hn_parmacs_meet(hn_parmacs_barrier *b, long threads) {
    if (hn_parmacs_svm()) {
        homenode_barrier(b, (unsigned)threads);
        return;
    }
    hn_parmacs_take(&b->lock);
    unsigned long round = b->round;
    if (++b->come >= threads) {
        b->come = 0;
        b->round++;
        hn_parmacs_broadcast(&b->opened);
    }
    while (b->round == round)
        hn_parmacs_cond_wait(&b->opened, &b->lock);
    hn_parmacs_give(&b->lock);
}

/* ---- pauses: flags that threads wait for --------------------------------------------------------------------------------- */

typedef struct {
    hn_parmacs_lock lock;
    hn_parmacs_cond changed;
    int set;
} hn_parmacs_pause;

static inline void hn_parmacs_pause_set(hn_parmacs_pause *p, int set) {
    if (hn_parmacs_svm()) {
        set ? homenode_flag_set(p) : homenode_flag_clear(p);
        return;
    }
    hn_parmacs_take(&p->lock);
    p->set = set;
    hn_parmacs_broadcast(&p->changed);
    hn_parmacs_give(&p->lock);
}

static inline void hn_parmacs_pause_init(hn_parmacs_pause *p) {
    hn_parmacs_lock_init(&p->lock);
    hn_parmacs_cond_init(&p->changed);
    hn_parmacs_pause_set(p, 0);
}

static inline void hn_parmacs_pause_wait(hn_parmacs_pause *p) {
    if (hn_parmacs_svm()) {
        homenode_flag_wait(p);
        return;
    }
    hn_parmacs_take(&p->lock);
    while (!p->set)
        hn_parmacs_cond_wait(&p->changed, &p->lock);
    hn_parmacs_give(&p->lock);
}

/* ---- subscripts that threads deal out among themselves -------------------------------------------------------------------- */

typedef struct {
    hn_parmacs_lock lock;
    hn_parmacs_cond all;
    long next, come;
    unsigned long round;
} hn_parmacs_subscripts;

static inline void hn_parmacs_subscripts_init(hn_parmacs_subscripts *s) {
    hn_parmacs_lock_init(&s->lock);
    hn_parmacs_cond_init(&s->all);
    s->next = 0;
    s->come = 0;
    s->round = 0;
}

/* The next subscript, 0 to `last`; when there is none, waits until all threads have found that out and gives -1: then it begins anew. */
static inline long hn_parmacs_subscript(hn_parmacs_subscripts *s, long last, long threads) {
    long subscript = -1;
    hn_parmacs_take(&s->lock);
    if (s->next <= last) {
        subscript = s->next++;
    } else {
        unsigned long round = s->round;
        if (++s->come >= threads) {
            s->come = 0;
            s->next = 0;
            s->round++;
            hn_parmacs_broadcast(&s->all);
        }
        while (s->round == round)
            hn_parmacs_cond_wait(&s->all, &s->lock);
    }
    hn_parmacs_give(&s->lock);
    return subscript;
}

/* ---- time -------------------------------------------------------------------------------------------------------------- */

/* Microseconds since 1970. */
static inline unsigned long hn_parmacs_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (unsigned long)now.tv_sec * 1000000ul + (unsigned long)now.tv_nsec / 1000ul;
}

#endif
