/* Tasks as gcc makes them: the runtime is given a function of ours, and data that begin with what that needs. */
#include "omp.h"

#define FLAG_DEPEND 8
#define FLAG_NOGROUP 2048
#define FLAG_REDUCTION 4096
#define FLAG_DETACH 8192
#define NEEDS 12

/* What stands before the task's own data. The runtime writes the bounds of a part of a loop into the first two words, and looks
 * for reductions by the third. */
struct head {
    uint64_t bounds[2];
    void *reductions;
    void (*fn)(void *);
    void (*copy)(void *, void *);
    void *data;
    size_t bytes, offset;
    bool loop;
    struct hn_omp_task task;
    uintptr_t pc;
    uint32_t needs, writes; /* of these the first `writes` are written */
    const void *need[NEEDS];
};

static void copy_bytes(uint8_t *to, const uint8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i];
}

/* The runtime makes the task's copy of our data. */
static void copy(void *to, void *from) {
    const struct head *head = from;
    copy_bytes(to, from, sizeof *head);
    if (head->copy)
        head->copy((uint8_t *)to + head->offset, head->data);
    else
        copy_bytes((uint8_t *)to + head->offset, head->data, head->bytes);
}

static void run(void *argument) {
    struct head *head = argument;
    void *data = (uint8_t *)argument + head->offset;
    struct hn_thread *t = hnrt_self ? hnrt_self : hnrt_thread_attach();
    if (head->loop)
        copy_bytes(data, argument, sizeof head->bounds);
    if (!t)
        return head->fn(data);
    const struct hn_omp_before before = {t->own.team, 0, t->own.omp_task, t->own.omp_group, t->own.open};
    const struct hn_omp_phase phase = {.what = "task", .pc = head->pc};
    t->own.omp_task = head->task.number;
    t->own.omp_group = head->task.group;
    t->own.team = head->task.team;
    t->own.open = (struct hn_omp_open){.asking = 0};
    hnrt_omp_task_begins(&head->task);
    for (uint32_t i = 0; i < head->needs; i++)
        hnrt_omp_needs(head->need[i], i < head->writes);
    hnrt_omp_phase(hnrt_recording(), true, &phase);
    head->fn(data);
    hnrt_omp_loop_over();
    hnrt_omp_phase(hnrt_recording(), false, &phase);
    for (uint32_t i = 0; i < head->needs; i++)
        hnrt_omp_provides(head->need[i], i < head->writes);
    hnrt_omp_task_ends(&head->task);
    t->own.omp_task = before.task;
    t->own.omp_group = before.group;
    t->own.team = before.team;
    t->own.open = before.open;
}

static size_t offset_of(size_t align) {
    size_t a = align > 16 ? align : 16;
    return (sizeof(struct head) + a - 1) / a * a;
}

/* What a task depends on, as the compiler lists it: numbers of all and of those that are written, or, where the first word is 0,
 * also those of other kinds, which are not understood. */
static void depends(struct head *head, void **depend) {
    uintptr_t all = (uintptr_t)depend[0], writes = (uintptr_t)depend[1];
    void **list = depend + 2;
    if (!all) {
        all = (uintptr_t)depend[1];
        writes = (uintptr_t)depend[2] + (uintptr_t)depend[3];
        if (all != writes + (uintptr_t)depend[4])
            hnrt_omp_unseen("? depend(depobj)", head->pc);
        all = writes + (uintptr_t)depend[4];
        list = depend + 5;
    }
    if (all > NEEDS)
        hnrt_omp_unseen("? depend of many", head->pc);
    head->needs = all < NEEDS ? (uint32_t)all : NEEDS;
    head->writes = writes < NEEDS ? (uint32_t)writes : NEEDS;
    for (uint32_t i = 0; i < head->needs; i++)
        head->need[i] = list[i];
}

INTERPOSE void GOMP_task(void (*fn)(void *), void *data, void (*copies)(void *, void *), long bytes, long align,
                         bool deferred, unsigned flags, void **depend, int priority, void *detach) {
    void (*real)(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned, void **, int, void *) =
        OMP(GOMP_task, void,
            (void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned, void **, int, void *));
    if (flags & FLAG_DETACH)
        hnrt_omp_unseen("? detached tasks", CALLER());
    if (hnrt_omp_tool || !hnrt_recording() || flags & FLAG_DETACH)
        return real(fn, data, copies, bytes, align, deferred, flags, depend, priority, detach);
    struct head head = {.fn = fn, .copy = copies, .data = data, .bytes = (size_t)bytes, .pc = (uintptr_t)fn};
    head.offset = offset_of((size_t)align);
    if (flags & FLAG_DEPEND && depend)
        depends(&head, depend);
    head.task = hnrt_omp_created();
    real(run, &head, copy, (long)(head.offset + head.bytes), align > 16 ? align : 16, deferred, flags, depend, priority,
         detach);
    /* One that was not deferred has ended: its creator goes on after it. */
    if (!deferred)
        hnrt_omp_waited();
}

INTERPOSE void GOMP_taskwait(void) {
    OMP(GOMP_taskwait, void, (void))();
    if (!hnrt_omp_tool)
        hnrt_omp_waited();
}

INTERPOSE void GOMP_taskwait_depend(void **depend) {
    OMP(GOMP_taskwait_depend, void, (void **))(depend);
    struct head head = {.pc = CALLER()};
    if (hnrt_omp_tool)
        return;
    depends(&head, depend);
    for (uint32_t i = 0; i < head.needs; i++)
        hnrt_omp_needs(head.need[i], i < head.writes);
}

INTERPOSE void GOMP_taskgroup_start(void) {
    if (!hnrt_omp_tool)
        hnrt_omp_group_begins();
    OMP(GOMP_taskgroup_start, void, (void))();
}

INTERPOSE void GOMP_taskgroup_end(void) {
    OMP(GOMP_taskgroup_end, void, (void))();
    if (!hnrt_omp_tool)
        hnrt_omp_group_ends();
}

#define TASKLOOP(name, number)                                                                                        \
    INTERPOSE void name(void (*fn)(void *), void *data, void (*copies)(void *, void *), long bytes, long align,       \
                        unsigned flags, unsigned long tasks, int priority, number begin, number end, number by) {     \
        void (*real)(void (*)(void *), void *, void (*)(void *, void *), long, long, unsigned, unsigned long, int,    \
                     number, number, number) =                                                                        \
            OMP(name, void,                                                                                           \
                (void (*)(void *), void *, void (*)(void *, void *), long, long, unsigned, unsigned long, int,        \
                 number, number, number));                                                                            \
        if (hnrt_omp_tool || !hnrt_recording())                                                                       \
            return real(fn, data, copies, bytes, align, flags, tasks, priority, begin, end, by);                      \
        struct head head = {.fn = fn, .copy = copies, .data = data, .bytes = (size_t)bytes, .pc = (uintptr_t)fn};          \
        head.loop = true;                                                                                             \
        head.offset = offset_of((size_t)align);                                                                       \
        if (flags & FLAG_REDUCTION)                                                                                   \
            head.reductions = ((void **)data)[2];                                                                     \
        bool waits = !(flags & FLAG_NOGROUP);                                                                         \
        if (waits)                                                                                                    \
            hnrt_omp_group_begins();                                                                                           \
        head.task = hnrt_omp_created(); /* all parts of the loop are one task, as far as its begin goes */            \
        real(run, &head, copy, (long)(head.offset + head.bytes), align > 16 ? align : 16, flags, tasks, priority,     \
             begin, end, by);                                                                                         \
        if (waits)                                                                                                    \
            hnrt_omp_group_ends();                                                                                             \
    }
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)
