/* Where modules lie and which build each is. Readers hold no lock: they check a sequence number, as allocations come
 * from everywhere, the loader included. */
#include <elf.h>
#include <link.h>

#include "os.h"
#include "agent.h"

#define MODULES 1024
static struct hnag_module modules[MODULES]; /* sorted by begin */
static uint32_t count, sequence, lock;      /* the sequence is odd while the table changes */
static unsigned long long unloaded;

struct look {
    uint32_t n;
    unsigned long long subs;
    struct hnag_module *found;
};
static struct hnag_module fresh[MODULES]; /* under the lock */

void hnag_modules_lock(void) {
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        os(SYS_sched_yield);
}

void hnag_modules_unlock(void) {
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* ---- build ids --------------------------------------------------------------------------------------------------- */

static void take_build_id(struct hnag_module *m, const uint8_t *id, uint32_t bytes) {
    uint8_t first[8] = {0};
    m->build = HNAG_FNV_BASIS;
    for (uint32_t i = 0; i < bytes; i++) {
        if (i < 8)
            first[i] = id[i];
        m->build = hnag_fnv(m->build, id[i], 1);
    }
    __builtin_memcpy(&m->build8, first, 8);
}

/* Notes are a name length, a description length, a type, then both padded to four bytes. */
static void read_notes(struct hnag_module *m, const uint8_t *at, uint64_t bytes) {
    while (bytes >= 12) {
        uint32_t head[3];
        __builtin_memcpy(head, at, 12);
        uint64_t name = ((uint64_t)head[0] + 3) & ~UINT64_C(3), text = ((uint64_t)head[1] + 3) & ~UINT64_C(3);
        if (name + text > bytes - 12)
            return;
        bool gnu = head[0] == 4 && at[12] == 'G' && at[13] == 'N' && at[14] == 'U' && !at[15];
        if (gnu && head[2] == NT_GNU_BUILD_ID && head[1])
            return take_build_id(m, at + 12 + name, head[1]);
        at += 12 + name + text;
        bytes -= 12 + name + text;
    }
}

/* ---- looking around ---------------------------------------------------------------------------------------------- */

static void read_headers(struct hnag_module *m, const struct dl_phdr_info *info) {
    m->begin = UINT64_MAX;
    m->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_NOTE && !m->build)
            read_notes(m, (const uint8_t *)at, p->p_memsz);
        if (p->p_type != PT_LOAD)
            continue;
        m->begin = at < m->begin ? at : m->begin;
        m->end = at + p->p_memsz > m->end ? at + p->p_memsz : m->end;
    }
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    struct look *l = context;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        l->subs = info->dlpi_subs;
    struct hnag_module m = {0};
    read_headers(&m, info);
    if (l->n == MODULES || m.begin >= m.end)
        return 0;
    uint32_t at = l->n++;
    for (; at && l->found[at - 1].begin > m.begin; at--)
        l->found[at] = l->found[at - 1];
    l->found[at] = m;
    return 0;
}

/* A module that was there before, unless anything was unloaded meanwhile, has been seen to. */
static void remember(struct look *l) {
    bool gone = l->subs != unloaded;
    unloaded = l->subs;
    for (uint32_t i = 0, j = 0; i < l->n && !gone; i++) {
        while (j < count && modules[j].begin < l->found[i].begin)
            j++;
        if (j < count && modules[j].begin == l->found[i].begin && modules[j].build == l->found[i].build)
            l->found[i].placed = modules[j].placed;
    }
}

static void publish(const struct look *l) {
    __atomic_store_n(&sequence, sequence + 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < l->n; i++)
        modules[i] = l->found[i];
    count = l->n;
    __atomic_store_n(&sequence, sequence + 1, __ATOMIC_SEQ_CST);
}

/* Brings the table up to date and places the static data of modules that are new. Does not wait for another thread
 * that does the same: it may be waiting for the loader's lock, which the caller may hold. */
void hnag_modules_look(void) {
    struct look l = {.found = fresh};
    if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        return hnag_request_attention();
    dl_iterate_phdr(look_at, &l);
    remember(&l);
    publish(&l);
    if (hnag_planning)
        hnag_plan_modules(modules, count);
    for (uint32_t i = 0; i < count && hnag_planning; i++)
        modules[i].placed = true;
    hnag_modules_unlock();
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static bool search(uintptr_t pc, struct hnag_module *out) {
    uint32_t low = 0, high = count < MODULES ? count : MODULES;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (modules[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= count || low >= MODULES || modules[low].begin > pc)
        return false;
    *out = modules[low];
    return true;
}

/* The module that a program counter lies in; false, and `out` untouched, for code that no module has. */
bool hnag_module_at(uintptr_t pc, struct hnag_module *out) {
    for (unsigned tries = 0; tries < 1000; tries++) {
        uint32_t before = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
        struct hnag_module m = {0};
        bool found = search(pc, &m);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(before & 1) && before == __atomic_load_n(&sequence, __ATOMIC_RELAXED)) {
            if (found)
                *out = m;
            return found;
        }
        os(SYS_sched_yield);
    }
    return false;
}

/* Whether a module of this build is loaded. */
bool hnag_module_loaded(uint64_t build) {
    for (unsigned tries = 0; tries < 1000; tries++) {
        uint32_t before = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
        bool found = false;
        for (uint32_t i = 0; i < count && i < MODULES; i++)
            found |= modules[i].build == build;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(before & 1) && before == __atomic_load_n(&sequence, __ATOMIC_RELAXED))
            return found;
        os(SYS_sched_yield);
    }
    return false;
}
