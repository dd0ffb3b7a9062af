/* Teams, barriers, tasks and phases of OpenMP, whichever runtime the program has. */
#include "omp.h"

#include <dlfcn.h>

bool hnrt_omp_tool;

/* ---- the functions behind ours ---------------------------------------------------------------------------------------- */

#define OMP_REAL_NAME(name) #name,
static const char *const names[] = {OMP_REAL(OMP_REAL_NAME)};
static void *found[OMP_REAL_COUNT];

/* Locks have had another layout before version 3.0, and dlsym without a version may find the older functions. */
static void *find_in(void *where, const char *name) {
    void *versioned = name[0] == 'o' ? dlvsym(where, name, "OMP_3.0") : NULL;
    return versioned ? versioned : dlsym(where, name);
}

/* A runtime that came with a plugin is not among the libraries that dlsym looks through. */
static void *find(const char *name) {
    static const char *const runtimes[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};
    void *real = find_in(RTLD_NEXT, name);
    for (size_t i = 0; !real && i < sizeof runtimes / sizeof *runtimes; i++) {
        void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
        real = runtime ? find_in(runtime, name) : NULL;
    }
    return real;
}

/* Whether there is such a function: programs may ask whether they were linked with OpenMP. */
bool hnrt_omp_has(enum omp_real which) {
    struct hn_thread *t = hnrt_self;
    if (LIKELY(__atomic_load_n(&found[which], __ATOMIC_RELAXED) != NULL))
        return true;
    if (t)
        t->guard++;
    void *real = find(names[which]);
    if (t)
        t->guard--;
    __atomic_store_n(&found[which], real, __ATOMIC_RELAXED);
    return real;
}

void *hnrt_omp_real(enum omp_real which) {
    if (UNLIKELY(!hnrt_omp_has(which))) {
        hnrt_complain("the program calls a function of OpenMP that no library of it has");
        __builtin_trap();
    }
    return __atomic_load_n(&found[which], __ATOMIC_RELAXED);
}

/* ---- phases ----------------------------------------------------------------------------------------------------------- */

struct text {
    char bytes[96];
    size_t used;
};

static void put(struct text *text, const char *what) {
    while (*what && text->used < sizeof text->bytes - 1)
        text->bytes[text->used++] = *what++;
    text->bytes[text->used] = 0;
}

static void put_number(struct text *text, uint64_t n, unsigned base) {
    char digits[24];
    unsigned at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = "0123456789abcdef"[n % base];
        n /= base;
    } while (n);
    put(text, digits + at);
}

/* `omp WHAT[,CHUNK] @ PC[ PC]`. */
void hnrt_omp_phase(struct hn_thread *t, bool begins, const struct hn_omp_phase *phase) {
    struct text text = {.used = 0};
    if (!t || !t->recording)
        return;
    put(&text, "omp ");
    put(&text, phase->what);
    if (phase->chunk > 0) {
        put(&text, ",");
        put_number(&text, (uint64_t)phase->chunk, 10);
    }
    put(&text, " @ ");
    put_number(&text, phase->pc, 16);
    if (phase->pc2) {
        put(&text, " ");
        put_number(&text, phase->pc2, 16);
    }
    hnrt_event_text(t, begins ? HN_EVENT_PHASE_BEGIN : HN_EVENT_PHASE_END, 0, 0, text.bytes);
}

/* Something that is not understood: a phase without extent, which reports tell. Once for each place, as far as remembered. */
void hnrt_omp_unseen(const char *what, uintptr_t pc) {
    static uintptr_t told[16];
    const struct hn_omp_phase phase = {.what = what, .pc = pc};
    struct hn_thread *t = hnrt_recording();
    for (unsigned i = 0; t && i < sizeof told / sizeof *told; i++) {
        uintptr_t before = 0;
        if (__atomic_compare_exchange_n(&told[i], &before, pc, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
        if (before == pc)
            return;
    }
    hnrt_omp_phase(t, true, &phase);
    hnrt_omp_phase(t, false, &phase);
}

/* `flush`: threads of the team may be about to tell each other something by a variable that is no atomic. */
void hnrt_omp_fence(uintptr_t pc) {
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.team && t->own.team->parties > 1)
        hnrt_omp_unseen("? flush", pc);
}

/* A worksharing loop begins: the one before it, whose end was not seen, is over. */
void hnrt_omp_loop(const char *schedule, int64_t chunk, uintptr_t pc) {
    struct hn_thread *t = hnrt_recording();
    if (!t)
        return;
    hnrt_omp_loop_over();
    t->own.open.loop = (struct hn_omp_phase){schedule, chunk, pc, 0};
    hnrt_omp_phase(t, true, &t->own.open.loop);
}

/* The number of threads is asked for: a static loop begins, or the program wants to know. */
void hnrt_omp_asked(struct hn_thread *t, uintptr_t pc) {
    struct hn_omp_open *open = &t->own.open;
    for (uint32_t i = 0; i < open->asking; i++)
        if (open->asked[i].pc == pc)
            return;
    if (open->asking == HN_OMP_ASKED)
        hnrt_omp_phase(t, false, &open->asked[--open->asking]);
    open->asked[open->asking] = (struct hn_omp_phase){"for static", 0, pc, pc};
    hnrt_omp_phase(t, true, &open->asked[open->asking++]);
}

void hnrt_omp_loop_over(void) {
    struct hn_thread *t = hnrt_recording();
    if (!t)
        return;
    struct hn_omp_open *open = &t->own.open;
    while (open->asking)
        hnrt_omp_phase(t, false, &open->asked[--open->asking]);
    if (open->loop.what)
        hnrt_omp_phase(t, false, &open->loop);
    open->loop.what = NULL;
}

/* ---- teams ------------------------------------------------------------------------------------------------------------ */

/* The calling thread is about to begin a region. */
void hnrt_omp_fork(struct hn_omp_team *team) {
    struct hn_thread *t = hnrt_self ? hnrt_self : hnrt_thread_attach();
    team->master = t;
    if (!t)
        return;
    team->outer = t->own.team;
    team->first_epoch = t->own.omp_epochs;
    t->pool_grows = !hnrt_omp_tool && !team->outer;
    if (hnrt_recording())
        hnrt_release(t, hnrt_omp_object(team, OMP_BEGIN), 0, HN_SYNC_THREAD);
}

/* ... and the region has ended. */
void hnrt_omp_join(struct hn_omp_team *team) {
    struct hn_thread *t = hnrt_self;
    if (!t)
        return;
    t->pool_grows = false;
    t->own.omp_epochs = team->first_epoch + __atomic_load_n(&team->most, __ATOMIC_ACQUIRE) + 1;
    if (!hnrt_recording())
        return;
    hnrt_acquire(t, hnrt_omp_object(team, OMP_END), 0, HN_SYNC_JOIN);
    if (team->tasks && t->recording)
        hnrt_acquire(t, hnrt_omp_object(team, OMP_TASKS), 0, HN_SYNC_JOIN);
}

/* The pool of the thread that began the region has this size now: libgomp ends those that the team does not need. A region that is not run in
 * parallel leaves the pool as it is. */
static void size_pool(struct hn_thread *master, uint32_t parties) {
    master->pool_grows = false;
    if (parties > 1 && parties < master->own.omp_pool)
        hnrt_pool_shrinks(master, parties);
    if (parties > 1)
        master->own.omp_pool = parties;
}

/* The calling thread becomes a member. */
void hnrt_omp_enter(struct hn_omp_team *team, uint32_t parties, struct hn_omp_before *before) {
    struct hn_thread *t = hnrt_self ? hnrt_self : hnrt_thread_attach();
    if (!t)
        return;
    *before = (struct hn_omp_before){t->own.team, t->own.omp_generation, t->own.omp_task, t->own.omp_group, t->own.open};
    __atomic_store_n(&team->parties, parties, __ATOMIC_RELAXED);
    if (t == team->master && !hnrt_omp_tool && !team->outer)
        size_pool(t, parties);
    t->own.team = team;
    t->own.omp_generation = t->own.omp_task = t->own.omp_group = 0;
    t->own.open = (struct hn_omp_open){.asking = 0};
    if (t != team->master && hnrt_recording())
        hnrt_acquire(t, hnrt_omp_object(team, OMP_BEGIN), 0, HN_SYNC_THREAD);
    if (team->outer && team->outer->parties > 1 && parties > 1 && t == team->master)
        hnrt_omp_unseen("? nested parallelism", team->pc);
    const struct hn_omp_phase region = {.what = "parallel", .pc = team->pc};
    hnrt_omp_phase(hnrt_recording(), true, &region);
    if (team->loop)
        hnrt_omp_loop(team->loop, team->chunk, team->pc);
}

/* ... and is none any more. The release of the one that began the region orders nothing. */
void hnrt_omp_finish(struct hn_omp_team *team) {
    struct hn_thread *t = hnrt_self;
    if (!t)
        return;
    hnrt_omp_loop_over();
    const struct hn_omp_phase region = {.what = "parallel", .pc = team->pc};
    hnrt_omp_phase(hnrt_recording(), false, &region);
    uint64_t most = __atomic_load_n(&team->most, __ATOMIC_RELAXED);
    while (most < t->own.omp_generation &&
           !__atomic_compare_exchange_n(&team->most, &most, t->own.omp_generation, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
        ;
    if (t != team->master && hnrt_recording())
        hnrt_release(t, hnrt_omp_object(team, OMP_END), 0, HN_SYNC_JOIN);
}

void hnrt_omp_restore(const struct hn_omp_before *before) {
    struct hn_thread *t = hnrt_self;
    if (!t)
        return;
    t->own.team = before->team;
    t->own.omp_generation = before->generation;
    t->own.omp_task = before->task;
    t->own.omp_group = before->group;
    t->own.open = before->open;
}

/* ---- barriers: all members of a team pass the same ones, so each counts for itself -------------------------------------- */

static uint64_t epoch_of(const struct hn_thread *t, const struct hn_omp_team *team) {
    uint64_t generation = (team->first_epoch + t->own.omp_generation) & HN_BARRIER_GENERATION_MASK;
    return generation | (uint64_t)team->parties << HN_BARRIER_PARTIES_SHIFT;
}

void hnrt_omp_arrive(void) {
    struct hn_thread *t = hnrt_recording();
    struct hn_omp_team *team = t ? t->own.team : NULL;
    hnrt_omp_loop_over();
    if (team && team->parties > 1)
        hnrt_release(t, hnrt_omp_object(team, OMP_BARRIER), epoch_of(t, team), HN_SYNC_BARRIER);
}

/* A barrier is also the end of all tasks that were created before it. */
void hnrt_omp_depart(void) {
    struct hn_thread *t = hnrt_recording();
    struct hn_omp_team *team = t ? t->own.team : NULL;
    if (!team)
        return;
    if (team->parties > 1)
        hnrt_acquire(t, hnrt_omp_object(team, OMP_BARRIER), epoch_of(t, team), HN_SYNC_BARRIER);
    t->own.omp_generation++;
    if (__atomic_load_n(&team->tasks, __ATOMIC_RELAXED) && t->recording)
        hnrt_acquire(t, hnrt_omp_object(team, OMP_TASKS), 0, HN_SYNC_JOIN);
}

/* ---- tasks: numbers are epochs of three objects -------------------------------------------------------------------------- */

static char begun, awaited, grouped;
static uint64_t numbers;

static uint64_t number(void) {
    return __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
}

/* The calling thread creates a task. */
struct hn_omp_task hnrt_omp_created(void) {
    struct hn_thread *t = hnrt_self;
    if (!t)
        return (struct hn_omp_task){0, 0, 0, NULL};
    if (!t->own.omp_task)
        t->own.omp_task = number();
    if (t->own.team)
        __atomic_store_n(&t->own.team->tasks, 1, __ATOMIC_RELAXED);
    const struct hn_omp_task task = {number(), t->own.omp_task, t->own.omp_group, t->own.team};
    if (hnrt_recording())
        hnrt_release(t, &begun, task.number, HN_SYNC_THREAD);
    return task;
}

void hnrt_omp_task_begins(const struct hn_omp_task *task) {
    struct hn_thread *t = hnrt_recording();
    if (t && task->number)
        hnrt_acquire(t, &begun, task->number, HN_SYNC_THREAD);
}

void hnrt_omp_task_ends(const struct hn_omp_task *task) {
    struct hn_thread *t = hnrt_recording();
    if (!t || !task->number)
        return;
    hnrt_release(t, &awaited, task->creator, HN_SYNC_JOIN);
    if (task->group && t->recording)
        hnrt_release(t, &grouped, task->group, HN_SYNC_JOIN);
    if (task->team && t->recording)
        hnrt_release(t, hnrt_omp_object(task->team, OMP_TASKS), 0, HN_SYNC_JOIN);
}

void hnrt_omp_waited(void) {
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.omp_task)
        hnrt_acquire(t, &awaited, t->own.omp_task, HN_SYNC_JOIN);
}

/* Groups that are open in this thread, innermost last. Deeper ones are not known: their tasks count to the last that is. */
#define GROUPS 16
static TLS uint64_t outer[GROUPS];
static TLS uint32_t depth;

void hnrt_omp_group_begins(void) {
    struct hn_thread *t = hnrt_self;
    if (t && depth < GROUPS) {
        outer[depth] = t->own.omp_group;
        t->own.omp_group = number();
    }
    depth++;
}

void hnrt_omp_group_ends(void) {
    struct hn_thread *t = hnrt_self;
    if (depth)
        depth--;
    if (t && t->own.omp_group && hnrt_recording())
        hnrt_acquire(t, &grouped, t->own.omp_group, HN_SYNC_JOIN);
    if (t && depth < GROUPS)
        t->own.omp_group = outer[depth];
}

/* As a reader-writer lock: epoch 0 is what writers provide, 1 what readers do. */
void hnrt_omp_needs(const void *memory, bool writes) {
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_acquire(t, memory, 0, HN_SYNC_SEMAPHORE);
    if (t && writes && t->recording)
        hnrt_acquire(t, memory, 1, HN_SYNC_SEMAPHORE);
}

void hnrt_omp_provides(const void *memory, bool writes) {
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_release(t, memory, writes ? 0 : 1, HN_SYNC_SEMAPHORE);
}
