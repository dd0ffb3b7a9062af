/* Executable and libraries: which there are (for symbolisation) and which are recorded. A library is recorded if it
 * was compiled with the hooks, and then it needs __tsan_init and calls it when it is loaded, which is also when we
 * look around: dlopen is not interposed, as a dlopen that comes from the wrong caller searches the wrong RUNPATH. Other
 * libraries are met before one is closed, and at the end. */
#include <elf.h>
#include <link.h>

#include "os.h"
#include "runtime.h"

#define MODULES 1024
static struct module {
    uint64_t bias, bytes; /* from the bias to the end */
    uint64_t name;        /* hash: another library may come to where one was closed */
    bool reported;
} modules[MODULES];
static uint32_t module_count, modules_lock;

/* Code of recorded modules. Entries are written before the count is raised and never change, so readers need no
 * lock. */
static struct {
    uintptr_t begin, end;
} recorded[64];
static uint32_t recorded_count;

static void lock_modules(void) {
    while (__atomic_exchange_n(&modules_lock, 1, __ATOMIC_ACQUIRE))
        os(SYS_sched_yield);
}

static void unlock_modules(void) {
    __atomic_store_n(&modules_lock, 0, __ATOMIC_RELEASE);
}

bool hnrt_module_has(uintptr_t pc) {
    uint32_t n = __atomic_load_n(&recorded_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (pc - recorded[i].begin < recorded[i].end - recorded[i].begin)
            return true;
    return false;
}

/* ---- what a module is -------------------------------------------------------------------------------------------- */

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

static const ElfW(Dyn) *dynamic_of(const struct dl_phdr_info *info) {
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* A table of the dynamic section; the loader has made most of these pointers absolute. */
static const void *table_of(const struct dl_phdr_info *info, ElfW(Sxword) tag) {
    const ElfW(Dyn) *d = dynamic_of(info);
    for (; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return (const void *)(d->d_un.d_ptr < info->dlpi_addr ? d->d_un.d_ptr + info->dlpi_addr : d->d_un.d_ptr);
    return NULL;
}

/* Symbols that the module may need: those before the first one that its hash table finds. */
static uint32_t needed_symbols(const struct dl_phdr_info *info) {
    const uint32_t *gnu = table_of(info, DT_GNU_HASH), *sysv = table_of(info, DT_HASH);
    return gnu ? gnu[1] : sysv ? sysv[1] : 0;
}

static bool same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static bool needs_hooks(const struct dl_phdr_info *info) {
    const ElfW(Sym) *symbol = table_of(info, DT_SYMTAB);
    const char *names = table_of(info, DT_STRTAB);
    uint32_t n = symbol && names ? needed_symbols(info) : 0;
    for (uint32_t i = 1; i < n; i++)
        if (symbol[i].st_shndx == SHN_UNDEF && same(names + symbol[i].st_name, "__tsan_init"))
            return true;
    return false;
}

/* ---- looking around ---------------------------------------------------------------------------------------------- */

static bool is_executable(const struct dl_phdr_info *info, struct extent e) {
    return (uintptr_t)&hnrt_module_has - info->dlpi_addr - e.first < e.end - e.first;
}

static void add_recorded(const struct dl_phdr_info *info, struct extent e) {
    if (recorded_count == sizeof recorded / sizeof *recorded)
        return;
    recorded[recorded_count].begin = info->dlpi_addr + e.first;
    recorded[recorded_count].end = info->dlpi_addr + e.end;
    __atomic_store_n(&recorded_count, recorded_count + 1, __ATOMIC_RELEASE);
}

static uint64_t hash_of(const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; name && *name; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return hash;
}

/* The module's entry, made if it is new; NULL if there is no more room. */
static struct module *meet(const struct dl_phdr_info *info, struct extent e) {
    uint64_t name = hash_of(info->dlpi_name);
    for (uint32_t i = 0; i < module_count; i++)
        if (modules[i].bias == info->dlpi_addr && modules[i].bytes == e.end && modules[i].name == name)
            return &modules[i];
    if (module_count == MODULES)
        return NULL;
    if (is_executable(info, e) || needs_hooks(info))
        add_recorded(info, e);
    struct module *m = &modules[module_count++];
    m->bias = info->dlpi_addr;
    m->bytes = e.end;
    m->name = name;
    return m;
}

static void report(struct hn_thread *t, struct module *m, const char *path) {
    char self[1024];
    if (!path || !*path) {
        long n = os(SYS_readlinkat, -100, "/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = 0;
        path = self;
    }
    hnrt_event_text(t, HN_EVENT_MODULE, m->bias, m->bytes, path);
    m->reported = true;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *thread) {
    (void)size;
    struct hn_thread *t = thread;
    struct extent e = extent_of(info);
    struct module *m = e.end ? meet(info, e) : NULL;
    if (m && !m->reported && t && t->recording)
        report(t, m, info->dlpi_name);
    return 0;
}

/* Meets modules not seen before, and reports them if the thread (which may be NULL) is recording. */
void hnrt_modules_scan(struct hn_thread *t) {
    lock_modules();
    if (t)
        t->guard++;
    dl_iterate_phdr(look_at, t);
    if (t)
        t->guard--;
    unlock_modules();
}

/* A forked child reports its modules itself. */
void hnrt_modules_forget(void) {
    modules_lock = 0;
    for (uint32_t i = 0; i < module_count; i++)
        modules[i].reported = false;
}
