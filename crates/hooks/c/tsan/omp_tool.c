/* Regions, barriers and tasks of libomp (and of gcc's programs that run on it), from OpenMP's interface for tools: what it reports before a
 * release and after an acquire. Mutual exclusion is reported after its release, which is too late, and loops without their schedule: both are in
 * omp_kmpc.c. Declarations are those of OpenMP 5.0, section 4.5; only the parts that are used. */
#include <link.h>
#include <sys/mman.h>

#include "omp.h"
#include "os.h"

union data {
    uint64_t value;
    void *ptr;
};
struct start_result {
    int (*initialize)(void *(*lookup)(const char *), int device, union data *tool);
    void (*finalize)(union data *tool);
    union data tool;
};
struct dependence {
    union data variable;
    int type;
};
enum callback { PARALLEL_BEGIN = 3, PARALLEL_END = 4, TASK_CREATE = 5, TASK_SCHEDULE = 6, IMPLICIT_TASK = 7, DEPENDENCES = 18, SYNC_REGION = 23, CANCEL = 30 };
enum endpoint { BEGINS = 1, ENDS = 2 };
enum sync_region { BARRIER_IMPLICIT = 2, BARRIER_IMPLEMENTATION = 4, TASKWAIT = 5, TASKGROUP = 6, REDUCTION = 7, BARRIER_IMPLICIT_PARALLEL = 9 };
enum status { COMPLETE = 1, CANCELLED = 3, DETACHED = 4, SWITCH = 7, TASKWAIT_COMPLETE = 8 };
#define FLAG_INITIAL 1
#define FLAG_TASKWAIT 0x10
#define FLAG_UNDEFERRED 0x08000000
#define FLAG_LEAGUE 0x40000000
#define TYPE_IN 1

/* ---- memory: never given back, so that addresses of teams stay names ------------------------------------------------------ */

#define NEEDS 12

/* What runs: an explicit task, or what a member of a team is doing besides. */
struct record {
    struct record *next;
    struct hn_omp_task task;
    bool is_explicit, begun, undeferred;
    uintptr_t pc;
    const void *memory; /* of an explicit task, which the runtime hands from one to the next */
    uint64_t number, group; /* of the thread while this is interrupted */
    struct hn_omp_open open;
    uint32_t needs;
    const void *need[NEEDS];
    bool writes[NEEDS];
};
struct team {
    struct team *next;
    struct hn_omp_team team;
};

static struct record *free_records;
static struct team *free_teams;
static uint32_t lock;

static void take(void) {
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        os(SYS_sched_yield);
}

static void give(void) {
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

#define SLAB 65536
static void *slab(void) {
    long address = os(SYS_mmap, 0, SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return os_failed(address) ? NULL : (void *)address;
}

#define POOL(type, list)                                                                                              \
    static struct type *new_##type(void) {                                                                            \
        take();                                                                                                       \
        if (!list) {                                                                                                  \
            struct type *more = slab();                                                                               \
            for (size_t i = 0; more && i < SLAB / sizeof *more; i++) {                                                \
                more[i].next = list;                                                                                  \
                list = &more[i];                                                                                      \
            }                                                                                                         \
        }                                                                                                             \
        struct type *one = list;                                                                                      \
        if (one)                                                                                                      \
            list = one->next;                                                                                         \
        give();                                                                                                       \
        return one;                                                                                                   \
    }                                                                                                                 \
    static void free_##type(struct type *one) {                                                                       \
        take();                                                                                                       \
        one->next = list;                                                                                             \
        list = one;                                                                                                   \
        give();                                                                                                       \
    }
POOL(record, free_records)
POOL(team, free_teams)

/* ---- regions -------------------------------------------------------------------------------------------------------------- */

static void parallel_begin(union data *encountering, const void *frame, union data *parallel, unsigned requested, int flags,
                           const void *returns) {
    (void)encountering, (void)frame, (void)requested;
    uintptr_t pc = (uintptr_t)returns - 1;
    struct team *made = new_team();
    parallel->ptr = made;
    if (flags & FLAG_LEAGUE)
        hnrt_omp_unseen("? teams", pc);
    if (!made)
        return;
    uint64_t used = made->team.first_epoch + made->team.most + 1;
    made->team = (struct hn_omp_team){.pc = pc};
    hnrt_omp_fork(&made->team);
    made->team.first_epoch = used;
}

static void parallel_end(union data *parallel, union data *encountering, int flags, const void *returns) {
    (void)encountering, (void)flags, (void)returns;
    struct team *of = parallel->ptr;
    if (!of)
        return;
    hnrt_omp_join(&of->team);
    free_team(of);
}

/* What each thread was in, outermost first. A thread of libomp's is told that a region has ended when the next one begins. */
#define NESTED 16
static TLS struct hn_omp_before outer[NESTED];
static TLS uint32_t depth;

static void implicit_task(int endpoint, union data *parallel, union data *task, unsigned all, unsigned index, int flags) {
    (void)index;
    struct team *of = parallel ? parallel->ptr : NULL;
    struct hn_thread *t = hnrt_self ? hnrt_self : hnrt_thread_attach();
    if (flags & FLAG_INITIAL || !t)
        return;
    if (endpoint == BEGINS) {
        struct record *record = of ? new_record() : NULL;
        if (record)
            *record = (struct record){.begun = true};
        task->ptr = record;
        if (of && depth < NESTED)
            hnrt_omp_enter(&of->team, all, &outer[depth]);
        depth++;
        return;
    }
    if (!depth)
        return;
    depth--;
    if (depth < NESTED) {
        if (t->own.team && t->own.team->master == t)
            hnrt_omp_finish(t->own.team);
        hnrt_omp_restore(&outer[depth]);
    }
    if (task && task->ptr)
        free_record(task->ptr);
}

/* ---- barriers and waits ------------------------------------------------------------------------------------------------------ */

/* The barrier at the end of a region: of older versions only told by its having no place, or the region's. */
static bool is_last(int kind, const struct hn_omp_team *team, const void *returns) {
    bool implicit = kind == BARRIER_IMPLICIT && (!returns || (uintptr_t)returns - 1 == team->pc);
    return kind == BARRIER_IMPLICIT_PARALLEL || implicit;
}

static void barrier(int kind, int endpoint, union data *parallel, const void *returns) {
    struct hn_thread *t = hnrt_self;
    struct hn_omp_team *team = t ? t->own.team : NULL;
    if (!team || !parallel)
        return;
    if (!is_last(kind, team, returns)) {
        if (endpoint == BEGINS)
            hnrt_omp_arrive();
        else
            hnrt_omp_depart();
    } else if (endpoint == BEGINS && t != team->master) {
        hnrt_omp_finish(team);
    }
}

static void sync_region(int kind, int endpoint, union data *parallel, union data *task, const void *returns) {
    (void)task;
    if (kind == TASKWAIT && endpoint == ENDS)
        hnrt_omp_waited();
    else if (kind == TASKGROUP && endpoint == BEGINS)
        hnrt_omp_group_begins();
    else if (kind == TASKGROUP)
        hnrt_omp_group_ends();
    else if (kind != TASKWAIT && kind != REDUCTION && kind != BARRIER_IMPLEMENTATION)
        barrier(kind, endpoint, parallel, returns);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------------------- */

static TLS struct record initial; /* of code outside of regions */

static struct record *record_of(const union data *data) {
    return data && data->ptr ? data->ptr : &initial;
}

/* The memory of the task that this thread is about to create. */
static TLS const void *allocated;

INTERPOSE void *__kmpc_omp_task_alloc(void *place, int32_t thread, int32_t flags, size_t bytes, size_t shared, void *entry) {
    void *task = OMP(__kmpc_omp_task_alloc, void *, (void *, int32_t, int32_t, size_t, size_t, void *))(place, thread, flags, bytes,
                                                                                                     shared, entry);
    allocated = task;
    if (hnrt_recording())
        hnrt_acquire(hnrt_self, task, HN_EPOCH_ALLOCATOR, HN_SYNC_ALLOCATOR);
    return task;
}

static void task_create(union data *encountering, const void *frame, union data *made, int flags, int depends, const void *returns) {
    (void)encountering, (void)frame, (void)depends;
    struct record *record = flags & FLAG_INITIAL ? NULL : new_record();
    made->ptr = record;
    if (!record)
        return;
    *record = (struct record){.is_explicit = true, .memory = allocated, .undeferred = flags & FLAG_UNDEFERRED, .pc = (uintptr_t)returns - 1};
    if (!(flags & FLAG_TASKWAIT))
        record->task = hnrt_omp_created();
    allocated = NULL;
}

static void dependences(union data *task, const struct dependence *list, int n) {
    struct record *record = task ? task->ptr : NULL;
    if (!record || !record->is_explicit)
        return;
    if (n > NEEDS)
        hnrt_omp_unseen("? depend of many", record->pc);
    record->needs = n < NEEDS ? (uint32_t)n : NEEDS;
    for (uint32_t i = 0; i < record->needs; i++) {
        record->need[i] = list[i].variable.ptr;
        record->writes[i] = list[i].type != TYPE_IN;
    }
}

static void needs(const struct record *record) {
    for (uint32_t i = 0; i < record->needs; i++)
        hnrt_omp_needs(record->need[i], record->writes[i]);
}

static void begin_task(struct record *record) {
    const struct hn_omp_phase phase = {.what = "task", .pc = record->pc};
    record->begun = true;
    hnrt_omp_task_begins(&record->task);
    needs(record);
    hnrt_omp_phase(hnrt_recording(), true, &phase);
}

static void end_task(struct record *record) {
    const struct hn_omp_phase phase = {.what = "task", .pc = record->pc};
    hnrt_omp_loop_over();
    hnrt_omp_phase(hnrt_recording(), false, &phase);
    for (uint32_t i = 0; i < record->needs; i++)
        hnrt_omp_provides(record->need[i], record->writes[i]);
    hnrt_omp_task_ends(&record->task);
    if (record->memory && hnrt_recording())
        hnrt_release(hnrt_self, record->memory, HN_EPOCH_ALLOCATOR, HN_SYNC_ALLOCATOR);
}

static void task_schedule(union data *before, int status, union data *after) {
    struct hn_thread *t = hnrt_self;
    struct record *from = record_of(before), *to = record_of(after);
    bool over = status == COMPLETE || status == CANCELLED || status == DETACHED, waited = false;
    if (!t)
        return;
    if (status == TASKWAIT_COMPLETE) {
        needs(from);
        return free_record(from);
    }
    if (status == DETACHED)
        hnrt_omp_unseen("? detached tasks", from->pc);
    if (from->is_explicit && over) {
        end_task(from);
        waited = from->undeferred;
        before->ptr = NULL;
        free_record(from);
    } else {
        from->number = t->own.omp_task;
        from->group = t->own.omp_group;
        from->open = t->own.open;
    }
    if (!after)
        return;
    t->own.omp_task = to->is_explicit && !to->begun ? to->task.number : to->number;
    t->own.omp_group = to->is_explicit && !to->begun ? to->task.group : to->group;
    t->own.open = to->open;
    if (!to->begun && to->is_explicit)
        begin_task(to);
    else if (waited)
        hnrt_omp_waited();
}

static void cancel(union data *task, int flags, const void *returns) {
    (void)task, (void)flags;
    hnrt_omp_unseen("? cancel", (uintptr_t)returns - 1);
}

/* ---- the beginning ------------------------------------------------------------------------------------------------------------ */

/* Where the code of libomp lies: its functions call each other's locks. */
static int is_runtime(struct dl_phdr_info *info, size_t size, void *inside) {
    uintptr_t end = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz > end)
            end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if ((uintptr_t)inside - info->dlpi_addr >= end)
        return 0;
    hnrt_runtime_from = info->dlpi_addr;
    hnrt_runtime_bytes = end;
    return 1;
}

static int initialize(void *(*lookup)(const char *), int device, union data *tool) {
    int (*set)(int, void (*)(void)) = (int (*)(int, void (*)(void)))lookup("ompt_set_callback");
    (void)device, (void)tool;
    if (!set)
        return 0;
    set(PARALLEL_BEGIN, (void (*)(void))parallel_begin);
    set(PARALLEL_END, (void (*)(void))parallel_end);
    set(IMPLICIT_TASK, (void (*)(void))implicit_task);
    set(SYNC_REGION, (void (*)(void))sync_region);
    set(TASK_CREATE, (void (*)(void))task_create);
    set(TASK_SCHEDULE, (void (*)(void))task_schedule);
    set(DEPENDENCES, (void (*)(void))dependences);
    set(CANCEL, (void (*)(void))cancel);
    hnrt_omp_tool = true;
    return 1;
}

static void finalize(union data *tool) {
    (void)tool;
}

/* libomp looks for this function when it begins. A program with a tool of its own keeps it. */
INTERPOSE struct start_result *ompt_start_tool(unsigned version, const char *runtime) {
    static struct start_result result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    hnrt_init();
    dl_iterate_phdr(is_runtime, __builtin_return_address(0));
    return hnrt_attached ? &result : NULL;
}
