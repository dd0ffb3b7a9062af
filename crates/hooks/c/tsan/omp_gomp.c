/* What gcc makes of OpenMP: regions, barriers, sections, single, critical, atomic, ordered. Where libomp is behind these functions, it reports regions
 * and barriers to the interface for tools (omp_tool.c), and here they are passed on. */
#include "omp.h"

/* The begin of the outlined function has the line of the directive; the call of the runtime often has none of its own. */

/* ---- regions -------------------------------------------------------------------------------------------------------- */

/* What each member of the team runs. */
void hnrt_omp_member(void *argument) {
    struct hn_omp_team *team = argument;
    struct hn_omp_before before = {0};
    hnrt_omp_enter(team, (uint32_t)OMP(omp_get_num_threads, int, (void))(), &before);
    if (hnrt_self && team->master && hnrt_self != team->master && !team->outer)
        hnrt_pool_joins(hnrt_self, team->master, (uint32_t)OMP(omp_get_thread_num, int, (void))());
    team->fn(team->data);
    hnrt_omp_finish(team);
    hnrt_omp_restore(&before);
}

INTERPOSE void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags) {
    struct hn_omp_team team = {.fn = fn, .data = data, .pc = (uintptr_t)fn};
    if (hnrt_omp_tool)
        return OMP(GOMP_parallel, void, (void (*)(void *), void *, unsigned, unsigned))(fn, data, threads, flags);
    hnrt_omp_fork(&team);
    OMP(GOMP_parallel, void, (void (*)(void *), void *, unsigned, unsigned))(hnrt_omp_member, &team, threads, flags);
    hnrt_omp_join(&team);
}

/* With reductions over tasks, which the runtime looks for by the first word of the data. */
struct reducing {
    void *first;
    struct hn_omp_team team;
};

static void member_reducing(void *argument) {
    hnrt_omp_member(&((struct reducing *)argument)->team);
}

INTERPOSE unsigned GOMP_parallel_reductions(void (*fn)(void *), void *data, unsigned threads, unsigned flags) {
    struct reducing r = {*(void **)data, {.fn = fn, .data = data, .pc = (uintptr_t)fn}};
    if (hnrt_omp_tool)
        return OMP(GOMP_parallel_reductions, unsigned, (void (*)(void *), void *, unsigned, unsigned))(fn, data, threads,
                                                                                                       flags);
    hnrt_omp_fork(&r.team);
    unsigned all = OMP(GOMP_parallel_reductions, unsigned, (void (*)(void *), void *, unsigned, unsigned))(
        member_reducing, &r, threads, flags);
    hnrt_omp_join(&r.team);
    return all;
}

INTERPOSE void GOMP_parallel_sections(void (*fn)(void *), void *data, unsigned threads, unsigned count, unsigned flags) {
    struct hn_omp_team team = {.fn = fn, .data = data, .pc = (uintptr_t)fn, .loop = "sections"};
    if (hnrt_omp_tool)
        return OMP(GOMP_parallel_sections, void, (void (*)(void *), void *, unsigned, unsigned, unsigned))(
            fn, data, threads, count, flags);
    hnrt_omp_fork(&team);
    OMP(GOMP_parallel_sections, void, (void (*)(void *), void *, unsigned, unsigned, unsigned))(hnrt_omp_member, &team, threads,
                                                                                                count, flags);
    hnrt_omp_join(&team);
}

/* A league on the host runs one team after the other. */
INTERPOSE void GOMP_teams_reg(void (*fn)(void *), void *data, unsigned teams, unsigned limit, unsigned flags) {
    hnrt_omp_unseen("? teams", CALLER());
    OMP(GOMP_teams_reg, void, (void (*)(void *), void *, unsigned, unsigned, unsigned))(fn, data, teams, limit, flags);
}

INTERPOSE void GOMP_target_ext(int device, void (*fn)(void *), size_t count, void **addresses, size_t *sizes,
                               unsigned short *kinds, unsigned flags, void **depend, void **arguments) {
    hnrt_omp_unseen("? target", CALLER());
    OMP(GOMP_target_ext, void,
        (int, void (*)(void *), size_t, void **, size_t *, unsigned short *, unsigned, void **, void **))
    (device, fn, count, addresses, sizes, kinds, flags, depend, arguments);
}

INTERPOSE bool GOMP_cancel(int which, bool doit) {
    hnrt_omp_unseen("? cancel", CALLER());
    return OMP(GOMP_cancel, bool, (int, bool))(which, doit);
}

/* ---- barriers ------------------------------------------------------------------------------------------------------- */

#define BARRIER(name, type, parameters, types, arguments)                                                             \
    INTERPOSE type name parameters {                                                                                  \
        if (hnrt_omp_tool)                                                                                            \
            return OMP(name, type, types) arguments;                                                                  \
        hnrt_omp_arrive();                                                                                            \
        type result = OMP(name, type, types) arguments;                                                               \
        hnrt_omp_depart();                                                                                            \
        return result;                                                                                                \
    }
#define BARRIER_NO_RESULT(name, parameters, types, arguments)                                                         \
    INTERPOSE void name parameters {                                                                                  \
        if (hnrt_omp_tool)                                                                                            \
            return OMP(name, void, types) arguments;                                                                  \
        hnrt_omp_arrive();                                                                                            \
        OMP(name, void, types) arguments;                                                                             \
        hnrt_omp_depart();                                                                                            \
    }
BARRIER_NO_RESULT(GOMP_barrier, (void), (void), ())
BARRIER_NO_RESULT(GOMP_loop_end, (void), (void), ())
BARRIER_NO_RESULT(GOMP_sections_end, (void), (void), ())
BARRIER(GOMP_barrier_cancel, bool, (void), (void), ())
BARRIER(GOMP_loop_end_cancel, bool, (void), (void), ())
BARRIER(GOMP_sections_end_cancel, bool, (void), (void), ())
BARRIER_NO_RESULT(GOMP_workshare_task_reduction_unregister, (bool cancelled), (bool), (cancelled))

INTERPOSE void GOMP_loop_end_nowait(void) {
    if (!hnrt_omp_tool)
        hnrt_omp_loop_over();
    OMP(GOMP_loop_end_nowait, void, (void))();
}

INTERPOSE void GOMP_sections_end_nowait(void) {
    if (!hnrt_omp_tool)
        hnrt_omp_loop_over();
    OMP(GOMP_sections_end_nowait, void, (void))();
}

/* ---- sections, single ------------------------------------------------------------------------------------------------ */

INTERPOSE unsigned GOMP_sections_start(unsigned count) {
    if (!hnrt_omp_tool)
        hnrt_omp_loop("sections", 0, CALLER());
    return OMP(GOMP_sections_start, unsigned, (unsigned))(count);
}

INTERPOSE unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory) {
    if (!hnrt_omp_tool)
        hnrt_omp_loop("sections", 0, CALLER());
    return OMP(GOMP_sections2_start, unsigned, (unsigned, uintptr_t *, void **))(count, reductions, memory);
}

/* One member makes what all others then copy; none for it. */
INTERPOSE void *GOMP_single_copy_start(void) {
    void *copy = OMP(GOMP_single_copy_start, void *, (void))();
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.team && copy)
        hnrt_acquire(t, hnrt_omp_object(t->own.team, OMP_COPY), 0, HN_SYNC_SEMAPHORE);
    return copy;
}

INTERPOSE void GOMP_single_copy_end(void *copy) {
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.team)
        hnrt_release(t, hnrt_omp_object(t->own.team, OMP_COPY), 0, HN_SYNC_SEMAPHORE);
    OMP(GOMP_single_copy_end, void, (void *))(copy);
}

/* ---- mutual exclusion ------------------------------------------------------------------------------------------------ */

/* These locks lie in the runtime, where nobody knows them; the words here stand for them. */
static _Alignas(64) char omp_critical[64];
static _Alignas(64) char omp_atomic[64];

INTERPOSE void GOMP_critical_start(void) {
    OMP(GOMP_critical_start, void, (void))();
    hnrt_locked(0, omp_critical, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE void GOMP_critical_end(void) {
    hnrt_unlocking(omp_critical, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    OMP(GOMP_critical_end, void, (void))();
}

/* With a name: the program has a variable for it, which is the lock. */
INTERPOSE void GOMP_critical_name_start(void **lock) {
    OMP(GOMP_critical_name_start, void, (void **))(lock);
    hnrt_locked(0, lock, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE void GOMP_critical_name_end(void **lock) {
    hnrt_unlocking(lock, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    OMP(GOMP_critical_name_end, void, (void **))(lock);
}

/* Atomic constructs that no instruction does. */
INTERPOSE void GOMP_atomic_start(void) {
    OMP(GOMP_atomic_start, void, (void))();
    hnrt_locked(0, omp_atomic, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE void GOMP_atomic_end(void) {
    hnrt_unlocking(omp_atomic, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    OMP(GOMP_atomic_end, void, (void))();
}

INTERPOSE void GOMP_ordered_start(void) {
    OMP(GOMP_ordered_start, void, (void))();
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.team)
        hnrt_acquire(t, hnrt_omp_object(t->own.team, OMP_ORDERED), 0, HN_SYNC_SEMAPHORE);
}

INTERPOSE void GOMP_ordered_end(void) {
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.team)
        hnrt_release(t, hnrt_omp_object(t->own.team, OMP_ORDERED), 0, HN_SYNC_SEMAPHORE);
    OMP(GOMP_ordered_end, void, (void))();
}

/* ---- locks of either runtime, and from Fortran ------------------------------------------------------------------------- */

#define LOCKS(set, unset, test)                                                                                       \
    INTERPOSE void set(void *lock) {                                                                                  \
        OMP(set, void, (void *))(lock);                                                                               \
        hnrt_locked(0, lock, CODE_4, HN_SYNC_MUTEX, CALLER());                                                        \
    }                                                                                                                 \
    INTERPOSE void unset(void *lock) {                                                                                \
        hnrt_unlocking(lock, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());                                              \
        OMP(unset, void, (void *))(lock);                                                                             \
    }                                                                                                                 \
    INTERPOSE int test(void *lock) {                                                                                  \
        int taken = OMP(test, int, (void *))(lock);                                                                   \
        if (taken)                                                                                                    \
            hnrt_locked(0, lock, CODE_4, HN_SYNC_MUTEX, CALLER());                                                    \
        return taken;                                                                                                 \
    }
LOCKS(omp_set_lock, omp_unset_lock, omp_test_lock)
LOCKS(omp_set_nest_lock, omp_unset_nest_lock, omp_test_nest_lock)
LOCKS(omp_set_lock_, omp_unset_lock_, omp_test_lock_)
LOCKS(omp_set_nest_lock_, omp_unset_nest_lock_, omp_test_nest_lock_)
