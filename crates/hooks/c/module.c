/* Executable and libraries: which there are (for symbolisation) and which are recorded. A module is recorded if it was compiled with the
 * hooks, and then its constructor calls __tsan_init, which is how it is found: dlopen is not interposed, as a dlopen that
 * comes from the wrong caller searches the wrong RUNPATH. */
#include <link.h>
#include <unistd.h>

#include "os.h"
#include "runtime.h"

#define MODULES 1024
static struct module {
    uint64_t bias, bytes; /* from the bias to the end */
} modules[MODULES];
static uint32_t module_count, modules_lock;

static void lock_modules(void) {
    while (__atomic_exchange_n(&modules_lock, 1, __ATOMIC_ACQUIRE))
        os(SYS_sched_yield);
}

static void unlock_modules(void) {
    __atomic_store_n(&modules_lock, 0, __ATOMIC_RELEASE);
}

/* ---- recorded code ---------------------------------------------------------------------------------------------------------------------- */

/* Address ranges of recorded modules. Entries are written before the count is raised and never change, so readers need no lock. */
static struct {
    uintptr_t begin, end;
} recorded[64];
static uint32_t recorded_count;

bool hnrt_module_has(uintptr_t pc) {
    uint32_t n = __atomic_load_n(&recorded_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (pc - recorded[i].begin < recorded[i].end - recorded[i].begin)
            return true;
    return false;
}

struct extent {
    uint64_t first, end;
};

/* Loaded part of a module, relative to its bias. */
static struct extent extent_of(const struct dl_phdr_info *info) {
    struct extent e = {UINT64_MAX, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        e.first = p->p_vaddr < e.first ? p->p_vaddr : e.first;
        e.end = p->p_vaddr + p->p_memsz > e.end ? p->p_vaddr + p->p_memsz : e.end;
    }
    return e;
}

static int add_if_it_holds(struct dl_phdr_info *info, size_t size, void *pc) {
    (void)size;
    struct extent e = extent_of(info);
    uintptr_t offset = *(uintptr_t *)pc - info->dlpi_addr;
    if (offset < e.first || offset >= e.end)
        return 0;
    if (recorded_count < sizeof recorded / sizeof *recorded) {
        recorded[recorded_count].begin = info->dlpi_addr + e.first;
        recorded[recorded_count].end = info->dlpi_addr + e.end;
        __atomic_store_n(&recorded_count, recorded_count + 1, __ATOMIC_RELEASE);
    }
    return 1;
}

/* The module with this code is recorded. */
void hnrt_module_add(uintptr_t pc) {
    if (hnrt_module_has(pc))
        return;
    lock_modules();
    dl_iterate_phdr(add_if_it_holds, &pc);
    unlock_modules();
}

/* ---- events --------------------------------------------------------------------------------------------------------------------------------- */

static bool known(uint64_t bias, uint64_t bytes) {
    for (uint32_t i = 0; i < module_count; i++)
        if (modules[i].bias == bias && modules[i].bytes == bytes)
            return true;
    return false;
}

static int report(struct dl_phdr_info *info, size_t size, void *thread) {
    (void)size;
    struct hn_thread *t = thread;
    struct extent e = extent_of(info);
    if (!t->recording || !e.end || known(info->dlpi_addr, e.end) || module_count == MODULES)
        return 0;
    modules[module_count].bias = info->dlpi_addr;
    modules[module_count].bytes = e.end;
    module_count++;
    char self[4096];
    const char *path = info->dlpi_name;
    if (!path || !*path) {
        long n = os(SYS_readlinkat, -100, "/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = 0;
        path = self;
    }
    hnrt_event_text(t, HN_EVENT_MODULE, info->dlpi_addr, e.end, path);
    return 0;
}

/* Records modules not seen before. */
void hnrt_modules_scan(struct hn_thread *t) {
    lock_modules();
    t->guard++;
    dl_iterate_phdr(report, t);
    t->guard--;
    unlock_modules();
}

/* A forked child reports its modules itself. */
void hnrt_modules_forget(void) {
    module_count = 0;
    modules_lock = 0;
}
