/* The beginning of the agent. Nothing happens before the constructor but passing calls on. */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "os.h"
#include "real.h"
#include "agent.h"

size_t hnag_threshold;
bool hnag_is_ready, hnag_planning;
const struct hnag_watcher *hnag_watcher;
char hnrt_unannounced;

static size_t least = SIZE_MAX; /* what the threshold is when nothing asks for attention */
static bool active;
static uintptr_t loader_begin, loader_end;

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* The next request of any size looks whether modules have come. */
void hnag_request_attention(void) {
    if (active)
        __atomic_store_n(&hnag_threshold, 0, __ATOMIC_RELAXED);
}

bool hnag_in_loader(uintptr_t pc) {
    return pc - loader_begin < loader_end - loader_begin;
}

/* Called on the slow path of every request. While the loader itself is asking, it may not be done. */
void hnag_attend(bool by_loader) {
    if (LIKELY(!active || __atomic_load_n(&hnag_threshold, __ATOMIC_RELAXED) == least))
        return;
    struct hn_thread *t = hnag_enter();
    if (!t)
        return;
    if (!by_loader)
        __atomic_store_n(&hnag_threshold, least, __ATOMIC_RELAXED);
    hnag_modules_look();
    if (t->recording)
        hnrt_modules_scan(t);
    hnag_leave(t);
}

static int find_loader(struct dl_phdr_info *info, size_t size, void *base) {
    (void)size;
    if (info->dlpi_addr != (uintptr_t)base)
        return 0;
    loader_begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && info->dlpi_addr + p->p_vaddr + p->p_memsz > loader_end)
            loader_end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    return 1;
}

/* ---- who we are in ----------------------------------------------------------------------------------------------- */

struct definer {
    void *address;
    const char *path;
};

static int find_definer(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    struct definer *d = context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (uintptr_t)d->address - info->dlpi_addr - p->p_vaddr < p->p_memsz)
            d->path = info->dlpi_name;
    }
    return d->path != NULL;
}

/* An allocator in the executable, or in a library that is preloaded before us, answers in our place. */
static void say_what_is_unseen(void) {
    struct definer d = {hnag_first("malloc"), NULL};
    /* The malloc of a program that was compiled with the hooks asks ours. */
    if (hnag_is_own((uintptr_t)d.address) || hnag_first("homenode_entry_points"))
        return;
    dl_iterate_phdr(find_definer, &d);
    hnrt_complain(d.path && *d.path ? "an allocator is preloaded before the agent: only its mappings are seen, not "
                                      "what it hands out; preload the agent first"
                                    : "the program brings its own malloc: only its mappings are seen, not what it "
                                      "hands out");
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

bool hnag_active(void) {
    hnrt_init();
    return active;
}

static void start(void) {
    hnrt_real_resolve();
    /* A program compiled with the hooks records itself. */
    bool recording = !hnag_first("__tsan_init") && hnrt_control_open();
    if (!recording)
        hnrt_pid = (uint32_t)os(SYS_getpid);
    hnrt_phase_init();
    dl_iterate_phdr(find_loader, (void *)getauxval(AT_BASE));
    hnag_modules_look();
    hnag_unwind_init();
    if (!getauxval(AT_SECURE))
        hnag_plan_load();
    active = recording || hnag_planning;
    if (active) {
        say_what_is_unseen();
        hnrt_thread_key_init();
        hnrt_fork_init();
        hnrt_exit_init();
    }
}

/* Once; by the constructor, or earlier if a library creates a thread in its own. */
void hnrt_init(void) {
    static uint32_t state;
    uint32_t before = 0;
    if (LIKELY(__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2))
        return;
    if (!__atomic_compare_exchange_n(&state, &before, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    int saved = errno;
    start();
    __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
    if (active)
        hnrt_thread_attach();
    if (hnag_planning)
        hnag_modules_look();
    hnag_is_ready = true;
    least = active ? HNAG_LEAST : SIZE_MAX;
    __atomic_store_n(&hnag_threshold, least, __ATOMIC_RELAXED);
    if (active && hnag_protect_init)
        hnag_protect_init();
    errno = saved;
}

__attribute__((constructor(101))) static void at_load(void) {
    hnrt_init();
}

struct hn_thread *hnag_enter(void) {
    if (!active || !hnag_is_ready)
        return NULL;
    struct hn_thread *t = hnrt_self;
    if (UNLIKELY(!t)) {
        int saved = errno;
        t = hnrt_thread_attach();
        errno = saved;
    }
    if (!t || t->guard)
        return NULL;
    t->guard++;
    return t;
}
