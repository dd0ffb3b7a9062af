/* Applying the plan: which item is meant by what the program does. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "os.h"
#include "plan.h"

struct hnag_plan hnag_plan;

/* ---- static data ------------------------------------------------------------------------------------------------- */

static void place_module(const struct hnag_module *m) {
    struct hnag_placing p;
    hnag_placing_begin(&p);
    for (uint32_t i = hnag_plan.first[KIND_STATIC]; i < hnag_plan.first[KIND_STATIC + 1]; i++) {
        const struct hnag_item *item = &hnag_plan.items[i];
        if (item->build != m->build)
            continue;
        uint64_t lo = m->bias + item->offset;
        if (lo < m->begin || lo >= m->end || item->bytes > m->end - lo) {
            hnag_progress_of(item)->outcome = OUT_RANGE;
            continue;
        }
        hnag_progress_of(item)->times++;
        struct hnag_range r = {lo, lo + item->bytes, item->home, i};
        hnag_placing_add(&p, &r);
    }
    hnag_placing_end(&p);
}

/* Called with the modules' lock held. */
void hnag_plan_modules(const struct hnag_module *m, unsigned n) {
    if (hnag_plan.first[KIND_STATIC] == hnag_plan.first[KIND_STATIC + 1])
        return;
    for (unsigned i = 0; i < n; i++)
        if (m[i].build && !m[i].placed)
            place_module(&m[i]);
}

/* ---- allocations ------------------------------------------------------------------------------------------------- */

static int compare_group(const struct hnag_group *g, uint32_t by, uint64_t key, uint64_t path) {
    if (g->by != by)
        return g->by < by ? -1 : 1;
    if (g->key != key)
        return g->key < key ? -1 : 1;
    return g->path < path ? -1 : g->path > path;
}

static const struct hnag_group *find_group(uint32_t by, uint64_t key, uint64_t path) {
    uint32_t low = 0, high = hnag_plan.group_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int c = compare_group(&hnag_plan.groups[middle], by, key, path);
        if (c == 0)
            return &hnag_plan.groups[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static uint32_t first_with_ordinal(const struct hnag_group *g, uint64_t ordinal) {
    uint32_t low = g->first, high = g->end;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (hnag_plan.items[middle].ordinal < ordinal)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The build that allocates is that of the innermost frame; where stacks do not count, any that is loaded. */
static bool right_build(const struct hnag_item *item, const struct hnag_frames *f) {
    struct hnag_module m = {0};
    if (item->by == HN_PLAN_BY_SIZE)
        return hnag_module_loaded(item->build);
    return f->depth && hnag_module_at(f->returns[0] - 1, &m) && m.build == item->build;
}

static void note_mismatch(const struct hnag_item *item, uint32_t outcome) {
    struct hnag_progress *state = hnag_progress_of(item);
    if (__atomic_load_n(&state->outcome, __ATOMIC_RELAXED) < outcome)
        __atomic_store_n(&state->outcome, outcome, __ATOMIC_RELAXED);
}

/* ---- which object of a group an allocation is -------------------------------------------------------------------- */

#define NOBODY UINT32_MAX
enum { NEAR = 128 }; /* ordinals within which objects of one site may change places */

static bool of_one_object(const struct hnag_item *a, const struct hnag_item *b) {
    return a->ordinal == b->ordinal && a->size == b->size && a->build == b->build;
}

/* First item of an object of this size that has not come yet, not far from this ordinal; NOBODY: none. */
static uint32_t waiting(const struct hnag_group *g, uint64_t ordinal, const struct hnag_object *o,
                        const struct hnag_frames *f) {
    uint32_t i = first_with_ordinal(g, ordinal > NEAR ? ordinal - NEAR : 0);
    for (; i < g->end && hnag_plan.items[i].ordinal <= ordinal + NEAR; i++)
        if (hnag_plan.items[i].size == o->bytes && !hnag_plan.progress[i].times && right_build(&hnag_plan.items[i], f))
            return i;
    return NOBODY;
}

/* The first item of the object that this allocation is, or NOBODY. Its size and number decide. If only the number is right,
 * either the program runs at another size, or its objects come in another order: an object of the right size that is still
 * missing says the latter, unless something else has shown that sizes changed. Where sizes grow with the number (a vector),
 * what comes after the last and is larger than all is taken for the last one grown. */
static uint32_t choose(const struct hnag_group *g, uint64_t ordinal, const struct hnag_object *o,
                       const struct hnag_frames *f) {
    uint32_t exact = NOBODY, other = NOBODY, last = g->end - 1;
    bool taken = false;
    for (uint32_t i = first_with_ordinal(g, ordinal); i < g->end && hnag_plan.items[i].ordinal == ordinal; i++) {
        const struct hnag_item *item = &hnag_plan.items[i];
        bool right = right_build(item, f), came = hnag_plan.progress[i].times != 0;
        if (exact == NOBODY && right && item->size == o->bytes && !came)
            exact = i;
        else if (other == NOBODY && right && item->size != o->bytes && !came)
            other = i;
        taken |= right && came;
        if (!right || item->size != o->bytes)
            note_mismatch(item, OUT_SIZE);
    }
    if (exact != NOBODY || g->by == HN_PLAN_BY_SIZE)
        return exact;
    if (other != NOBODY || taken) {
        bool scaled = __atomic_load_n(&hnag_plan.other_sizes, __ATOMIC_RELAXED);
        uint32_t same = scaled ? NOBODY : waiting(g, ordinal, o, f);
        if (same != NOBODY || other == NOBODY)
            return same;
        __atomic_store_n(&hnag_plan.other_sizes, true, __ATOMIC_RELAXED);
        return other;
    }
    bool grown = ordinal > hnag_plan.items[last].ordinal && hnag_plan.items[last].size == g->largest;
    if (!grown || o->bytes <= g->largest || !right_build(&hnag_plan.items[last], f))
        return NOBODY;
    while (last > g->first && of_one_object(&hnag_plan.items[last], &hnag_plan.items[last - 1]))
        last--;
    return last;
}

/* `at` bytes of an object of `of` bytes, in one of `bytes`: the same share, rounded down. */
static uint64_t share(uint64_t at, uint64_t of, uint64_t bytes) {
    return (uint64_t)((unsigned __int128)at * bytes / of);
}

/* Only the thread with the group's path comes here, so counting needs no atomic operation. */
static bool place_in_group(const struct hnag_group *g, const struct hnag_object *o, const struct hnag_frames *f) {
    uint32_t first = choose(g, hnag_plan.seen[g - hnag_plan.groups]++, o, f);
    struct hnag_placing p;
    hnag_placing_begin(&p);
    for (uint32_t i = first; i < g->end && of_one_object(&hnag_plan.items[i], &hnag_plan.items[first]); i++) {
        const struct hnag_item *item = &hnag_plan.items[i];
        __atomic_fetch_add(&hnag_plan.progress[i].times, 1, __ATOMIC_RELAXED);
        if (item->size != o->bytes)
            __atomic_store_n(&hnag_plan.progress[i].came, o->bytes, __ATOMIC_RELAXED);
        uint64_t from = share(item->offset, item->size, o->bytes);
        struct hnag_range r = {o->addr + from, o->addr + share(item->offset + item->bytes, item->size, o->bytes),
                               item->home, i};
        if (r.lo < r.hi)
            hnag_placing_add(&p, &r);
    }
    return hnag_placing_end(&p);
}

static uint64_t site(const struct hnag_frames *f) {
    struct hnag_module m = {0};
    if (!f->depth || !hnag_module_at(f->returns[0] - 1, &m))
        return 0;
    return hnag_fnv(m.build, f->returns[0] - m.bias, 8);
}

/* Places what the plan says of a new object; true if it has a policy of ours now. A stack or site goes before its size. */
bool hnag_plan_object(struct hn_thread *t, const struct hnag_object *o, const struct hnag_frames *f) {
    uint64_t path = t->own.path;
    const struct hnag_group *g = hnag_plan.hashes ? find_group(HN_PLAN_BY_STACK, hnag_stack_hash(f), path) : NULL;
    if (!g && hnag_plan.sites)
        g = find_group(HN_PLAN_BY_SITE, site(f), path);
    const struct hnag_group *by_size = find_group(HN_PLAN_BY_SIZE, o->bytes, path);
    bool placed = path && g && place_in_group(g, o, f);
    if (by_size && placed)
        hnag_plan.seen[by_size - hnag_plan.groups]++;
    else if (by_size && path)
        placed = place_in_group(by_size, o, f);
    return placed;
}

bool hnag_plan_wants_stacks(void) {
    return hnag_plan.hashes || hnag_plan.sites;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static unsigned long at_start[HN_PLAN_CPUS / 64]; /* processors that the process might use before we pinned anything */
static bool pins;

static const struct hnag_item *item_of_thread(enum hnag_kind kind, uint64_t path) {
    uint32_t low = hnag_plan.first[kind], end = hnag_plan.first[kind + 1], high = end;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (hnag_plan.items[middle].path < path)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && hnag_plan.items[low].path == path ? &hnag_plan.items[low] : NULL;
}

static void pin(struct hn_thread *t, const struct hnag_item *item) {
    unsigned long mask[HN_PLAN_CPUS / 64] = {0};
    mask[item->cpu / 64] = 1ul << item->cpu % 64;
    long result = os(SYS_sched_setaffinity, 0, sizeof mask, mask);
    struct hnag_progress *state = hnag_progress_of(item);
    state->times++;
    state->outcome = os_failed(result) ? OUT_FAILED : OUT_MATCHED;
    state->error = os_failed(result) ? (uint32_t)-result : 0;
    t->own.pinned = !os_failed(result);
}

static void unpin(struct hn_thread *t) {
    if (pins)
        os(SYS_sched_setaffinity, 0, sizeof at_start, at_start);
    t->own.pinned = false;
}

struct span {
    uint64_t at, lo, hi;
};

static bool covering(uint64_t lo, uint64_t hi, void *context) {
    struct span *s = context;
    if (s->at < lo || s->at >= hi)
        return true;
    s->lo = lo;
    s->hi = hi;
    return false;
}

/* The initial stack grows: only the whole mapping, down to its present end, can be given a policy that its growth
 * inherits. */
static void place_stack(const struct hn_thread *t, const struct hnag_item *item, uint64_t lo, uint64_t hi) {
    struct span s = {(uintptr_t)__builtin_frame_address(0), lo, hi};
    if (t->own.path == HNAG_PATH_INITIAL)
        hnag_maps_each(covering, &s);
    if (s.lo >= s.hi)
        return;
    long result = hnag_place_pages(s.lo, s.hi, item->home);
    struct hnag_progress *state = hnag_progress_of(item);
    state->times++;
    state->outcome = result ? OUT_FAILED : OUT_MATCHED;
    state->error = (uint32_t)-result;
    state->placed += result ? 0 : s.hi - s.lo;
}

/* At the start of a thread. One that the plan does not pin must not stay on its parent's processor. */
void hnag_plan_thread(struct hn_thread *t, uint64_t stack_lo, uint64_t stack_hi) {
    bool ours = t->own.path && hnag_plan.meant;
    const struct hnag_item *item = ours ? item_of_thread(KIND_PIN, t->own.path) : NULL;
    if (item)
        pin(t, item);
    else if (t->own.created_pinned)
        unpin(t);
    item = ours ? item_of_thread(KIND_STACK, t->own.path) : NULL;
    if (item)
        place_stack(t, item, stack_lo, stack_hi);
}

/* A forked child is another process than the one the plan pins. */
void hnrt_at_forked_child(struct hn_thread *t) {
    if (t->own.pinned)
        unpin(t);
    if (hnag_planning)
        hnag_result_forget();
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

static char *append(char *to, char *end, const char *text) {
    while (*text && to < end)
        *to++ = *text++;
    *to = 0;
    return to;
}

static void refuse(const char *path, const char *why) {
    char text[240], *end = text + sizeof text - 1, *at = append(text, end, "plan ");
    uint64_t length = 0;
    while (path[length])
        length++;
    at = append(at, end, length > 100 ? path + length - 100 : path);
    at = append(append(at, end, ": "), end, why);
    append(at, end, "; nothing is placed");
    hnrt_complain(text);
}

/* The shell or launcher that starts the program sees the plan too: it is for processes whose executable it names. Without a
 * name, threads are placed in processes that begin with one of its builds; data has its build in the key. */
static bool meant_for_us(void) {
    struct hnag_module own = {0};
    bool keyed = false;
    if (hnag_plan.program)
        return hnag_module_at(getauxval(AT_PHDR), &own) && own.build == hnag_plan.program;
    for (uint32_t i = 0; i < hnag_plan.count; i++) {
        keyed |= hnag_plan.items[i].build != 0;
        if (hnag_plan.items[i].build && hnag_module_loaded(hnag_plan.items[i].build))
            return true;
    }
    return !keyed;
}

/* A plan is made of one process: in several at once it would pile their threads and pages up on the same nodes. The lock
 * ends with the process, and a child has none. A plan that cannot be locked is applied. */
static bool claim(const char *path) {
    enum { HIGH = 500 }; /* out of the way of programs that count on small numbers */
    long fd = os(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY, 0);
    if (os_failed(fd))
        return true;
    long high = os(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH);
    if (!os_failed(high)) {
        os(SYS_close, fd);
        fd = high;
    }
    struct flock whole = {.l_type = F_WRLCK};
    long result = os(SYS_fcntl, fd, F_SETLK, &whole);
    if (result != -EAGAIN && result != -EACCES)
        return true;
    os(SYS_close, fd);
    return false;
}

void hnag_plan_load(void) {
    const char *path = getenv("HOMENODE_AGENT_PLAN");
    char *table;
    if (!path || !*path)
        return;
    long bytes = hnag_read_file(path, &table);
    if (bytes < 0)
        return refuse(path, bytes == -ENOENT ? "there is no such file" : "cannot be read");
    const char *wrong = hnag_plan_take(table, (uint64_t)bytes);
    if (wrong)
        return refuse(path, wrong);
    hnag_plan.meant = meant_for_us();
    if (hnag_plan.program && !hnag_plan.meant)
        return;
    if (hnag_plan.program && !claim(path))
        return hnag_result_beside();
    pins = !os_failed(os(SYS_sched_getaffinity, 0, sizeof at_start, at_start));
    hnag_place_init();
    hnag_planning = true;
}
