/* Sampling by protection: its beginning and its end. See protect.h. */
#include "protect.h"

#ifdef __x86_64__
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os.h"

#define LEAST 65536 /* smaller objects are not sampled */
#define DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH */
#define ROUNDS 16

struct hnag_shared *hnag_shared;
bool hnag_protect_over, hnag_calibrating;

/* ---- objects ------------------------------------------------------------------------------------------------------- */

static void obtained(const struct hnag_object *o) {
    if (o->source == HNAG_HEAP && o->bytes >= LEAST)
        hnag_area_add(o->addr, o->addr + o->bytes);
}

static void released(const struct hnag_object *o) {
    if (o->bytes >= LEAST)
        hnag_area_forget(o->addr, o->addr + o->bytes);
}

static const struct hnag_watcher watcher = {obtained, released};

static void known_before(const struct hnag_object *o, void *context) {
    (void)context;
    obtained(o);
}

void hnag_protect_mapping(const void *p, size_t bytes, int prot, int flags) {
    const int odd = MAP_STACK | MAP_GROWSDOWN | MAP_HUGETLB;
    if (!hnag_shared || hnag_protect_over || bytes < LEAST || prot != (PROT_READ | PROT_WRITE) || (flags & odd))
        return;
    if ((flags & (MAP_ANONYMOUS | MAP_PRIVATE)) == (MAP_ANONYMOUS | MAP_PRIVATE))
        hnag_area_add((uintptr_t)p, (uintptr_t)p + bytes);
}

/* Writable data of the program itself, without what the loader makes read-only. */
static int static_data(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    uint64_t fixed_end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            fixed_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
        if (p->p_type != PT_LOAD || p->p_flags != (PF_R | PF_W))
            continue;
        if (fixed_end > lo && fixed_end <= hi)
            lo = fixed_end;
        if (hi - lo >= LEAST)
            hnag_area_add(lo, hi);
    }
    return 1; /* the program is the first */
}

/* ---- cost ---------------------------------------------------------------------------------------------------------- */

static uint64_t fault_cost(void) {
    long at = os(SYS_mmap, 0, HNAG_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_failed(at))
        return 0;
    volatile uint8_t *page = (volatile uint8_t *)at;
    page[0] = 1;
    hnag_area_add((uint64_t)at, (uint64_t)at + HNAG_PAGE);
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < ROUNDS; i++) {
        hnag_gate_open(0, hnag_now_ns(CLOCK_MONOTONIC));
        uint64_t began = hnag_now_ns(CLOCK_MONOTONIC);
        page[i] = 1;
        uint64_t took = hnag_now_ns(CLOCK_MONOTONIC) - began;
        least = took < least ? took : least;
    }
    hnag_area_forget((uint64_t)at, (uint64_t)at + HNAG_PAGE);
    os(SYS_munmap, at, HNAG_PAGE);
    return least + least / 2; /* in a warm cache; by a program it is not */
}

/* A system call of the C library, which goes the long way. */
static uint64_t call_cost(void) {
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t began = hnag_now_ns(CLOCK_MONOTONIC);
        (void)getppid();
        uint64_t took = hnag_now_ns(CLOCK_MONOTONIC) - began;
        least = took < least ? took : least;
    }
    return least + least / 4;
}

static void calibrate(void) {
    hnag_calibrating = true;
    uint64_t fault = fault_cost(), call = call_cost();
    hnag_calibrating = false;
    hnag_shared->fault_ns = fault < 2000 ? 2000 : fault > 50000 ? 50000 : fault;
    hnag_shared->call_ns = call < 500 ? 500 : call > 10000 ? 10000 : call;
}

/* ---- beginning and end --------------------------------------------------------------------------------------------- */

static struct hnag_shared *open_shared(const char *path) {
    struct stat s;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    bool good = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() && s.st_size == HNAG_PROTECT_BYTES;
    long at = good ? os(SYS_mmap, 0, HNAG_PROTECT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : -1;
    os(SYS_close, fd);
    struct hnag_shared *h = os_failed(at) ? NULL : (struct hnag_shared *)at;
    if (h && h->magic != HNAG_PROTECT_MAGIC)
        h = NULL;
    return h;
}

/* Everything is whole from now on, and no system call is looked at any more. The handlers stay: a fault of a moment
 * ago may be on its way. */
void hnag_protect_end(enum hnag_why why) {
    if (!hnag_shared || __atomic_exchange_n(&hnag_protect_over, true, __ATOMIC_SEQ_CST))
        return;
    hnag_gate_close_all();
    for (uint32_t i = 0; i < HNAG_THREADS; i++)
        hnag_slots[i].selector = 0;
    if (why != WHY_OK)
        hnag_shared->why_not = why;
    hnag_window_end();
}

/* From 2.41 on, glibc tells by the program counter whether a thread that is cancelled waits in a system call; in our
 * stub it would not be found. */
static bool may_cancel_threads(void) {
    const char *version = gnu_get_libc_version();
    bool old = version[0] == '2' && version[1] == '.' && atoi(version + 2) < 41;
    return !old && hnag_is_called("pthread_cancel");
}

void hnag_protect_init(void) {
    const char *path = getenv(HNAG_PROTECT_ENV);
    struct hnag_shared *h = path && *path && hnrt_attached ? open_shared(path) : NULL;
    if (!h)
        return;
    if (os_failed(os(SYS_prctl, DISPATCH, 0, 0, 0, 0))) {
        h->why_not = WHY_KERNEL;
        return;
    }
    if (may_cancel_threads()) {
        h->why_not = WHY_PROGRAM;
        return;
    }
    hnag_shared = h;
    hnag_signals_init();
    hnag_protect_thread();
    calibrate();
    hnag_watcher = &watcher;
    hnag_registry_each(known_before, NULL);
    dl_iterate_phdr(static_data, NULL);
    if (!hnag_window_start())
        return hnag_protect_end(WHY_KERNEL);
    __atomic_fetch_add(&h->sampling, 1, __ATOMIC_RELAXED);
}

#else /* other processors have no way to see system calls first */
void hnag_protect_init(void) {}
void hnag_protect_thread(void) {}
void hnag_protect_creating(const pthread_attr_t *attributes) {
    (void)attributes;
}
void hnag_protect_created(void) {}
void hnag_protect_mapping(const void *p, size_t bytes, int prot, int flags) {
    (void)p, (void)bytes, (void)prot, (void)flags;
}
void hnag_protect_before_fork(void) {}
void hnag_protect_after_fork(void) {}
#endif
