/* Memory that other processes may have, too: shared mappings. Synchronisation objects in it take their numbers from counters
 * that all processes of the recording have, chosen by the object's place in the memory and not by its address, so that
 * numbers of different processes can be compared. The counters lie in a file beside the rings. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os.h"
#include "runtime.h"

#define RANGES 256
#define COUNTERS 65536
#define MAP_KIND 0x0f

/* A range that is not used has `last` 0. Whoever refers to a mapping has it already or has it no more, so that entries are read
 * without a lock. */
static struct range {
    uintptr_t first, last;
    uint64_t memory; /* the same in all processes, different for different memory */
    uint64_t offset;
    int prot, flags;
    bool announced; /* an event says so */
} ranges[RANGES];

uint32_t hnrt_shared_ranges; /* entries that were ever used */
static uint64_t *counters;
static uint32_t writing;

static void lock(void) {
    while (__atomic_exchange_n(&writing, 1, __ATOMIC_ACQUIRE))
        os_pause();
}

static void unlock(void) {
    __atomic_store_n(&writing, 0, __ATOMIC_RELEASE);
}

/* Of another thread, which the child does not have. */
void hnrt_shared_after_fork(void) {
    unlock();
}

static uint64_t mixed(uint64_t a, uint64_t b) {
    uint64_t h = (a ^ (b << 32 | b >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static char *append(char *to, const char *text) {
    while (*text)
        *to++ = *text++;
    *to = 0;
    return to;
}

/* The file of counters, made by whoever is first. */
static bool open_counters(void) {
    const uint64_t bytes = COUNTERS * sizeof *counters;
    const char *directory = (const char *)hnrt_control + HN_CONTROL_OFF_MEMORY;
    char path[HN_CONTROL_OFF_TABLE];
    long address = -1;
    if (counters)
        return true;
    append(append(path, *directory ? directory : (const char *)hnrt_control + HN_CONTROL_OFF_DIR), "/counters");
    long fd = os(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (os_failed(fd))
        return false;
    if (!os_failed(os(SYS_fallocate, fd, 0, 0, bytes)))
        address = os(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    os(SYS_close, fd);
    if (!os_failed(address))
        counters = (uint64_t *)address;
    return counters != NULL;
}

/* The counter of an object in shared memory, NULL for any other. */
uint64_t *hnrt_shared_counter(const volatile void *object) {
    uintptr_t at = (uintptr_t)object;
    uint32_t n = __atomic_load_n(&hnrt_shared_ranges, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++) {
        const struct range *r = &ranges[i];
        if (__atomic_load_n(&r->last, __ATOMIC_ACQUIRE) >= at && r->first <= at)
            return &counters[mixed(r->memory, r->offset + (at - r->first)) >> 48];
    }
    return NULL;
}

static bool put(struct range range) {
    uint32_t i = 0, used = hnrt_shared_ranges;
    uintptr_t last = range.last;
    while (i < used && ranges[i].last)
        i++;
    if (i == RANGES)
        return false;
    range.last = 0;
    ranges[i] = range;
    __atomic_store_n(&ranges[i].last, last, __ATOMIC_RELEASE);
    if (i == used)
        __atomic_store_n(&hnrt_shared_ranges, used + 1, __ATOMIC_RELEASE);
    return true;
}

/* Takes a range out of those known; what lies around it stays, as far as there is room. */
static void take_out(uintptr_t first, uintptr_t last) {
    for (uint32_t i = 0; i < hnrt_shared_ranges; i++) {
        struct range old = ranges[i], part = old;
        if (!old.last || old.last < first || last < old.first)
            continue;
        __atomic_store_n(&ranges[i].last, 0, __ATOMIC_RELEASE);
        if (old.first < first) {
            part.last = first - 1;
            put(part);
        }
        if (last < old.last) {
            part = old;
            part.first = last + 1;
            part.offset += part.first - old.first;
            put(part);
        }
    }
}

void hnrt_shared_gone(const void *p, size_t bytes) {
    if (!hnrt_shared_ranges || !bytes)
        return;
    lock();
    take_out((uintptr_t)p, (uintptr_t)p + ((bytes - 1) | 4095));
    unlock();
}

/* Takes note of a shared mapping; false if that is not possible: it is then treated as this process's own. */
static bool note(struct range range) {
    if (!hnrt_attached)
        return false;
    lock();
    take_out(range.first, range.last);
    bool noted = open_counters() && put(range);
    unlock();
    return noted;
}

/* Anonymous memory that only a fork shares: no event until then. */
void hnrt_shared_anonymous(const void *p, size_t bytes) {
    uintptr_t first = (uintptr_t)p;
    note((struct range){first, first + bytes - 1, mixed(os_stamp(), first), 0, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, false});
}

/* Only a mapping whose memory other processes may have says where in it it begins. */
static void event(struct hn_thread *t, const struct range *r, uint64_t bytes, int fd, const struct stat *s,
                  bool shared) {
    uint64_t *slot = hnrt_reserve(t, shared ? 4 : 3);
    if (!slot)
        return;
    slot[0] = hnrt_event_word(HN_EVENT_MAP, r->first, shared ? 3 : 2);
    slot[1] = bytes;
    slot[2] = (uint64_t)(uint32_t)r->prot << 32 | (uint32_t)r->flags;
    slot[3] = r->flags & MAP_ANONYMOUS ? 0 : (uint64_t)fd + 1;
    slot[4] = s->st_dev;
    slot[5] = s->st_ino;
    if (shared) {
        slot[6] = r->offset;
        slot[7] = 0;
    }
    hnrt_commit(t, shared ? 4 : 3);
}

/* A mapping that the program made; without a thread that records there is no event. */
void hnrt_mapped(struct hn_thread *t, const void *p, size_t bytes, int prot, int flags, int fd, uint64_t offset) {
    struct stat s = {0};
    int kind = flags & MAP_KIND, saved = errno;
    bool shared = (kind == MAP_SHARED || kind == MAP_SHARED_VALIDATE) && bytes, anonymous = flags & MAP_ANONYMOUS;
    if (!anonymous && (shared || t)) {
        shared = fstat(fd, &s) == 0 && shared;
        errno = saved;
    }
    uintptr_t first = (uintptr_t)p;
    uint64_t memory = anonymous ? mixed(os_stamp(), first) : mixed(s.st_dev, s.st_ino);
    struct range r = {first, first + ((bytes - 1) | 4095), memory, anonymous ? 0 : offset, prot, flags, t != NULL};
    if (shared)
        shared = note(r);
    else
        hnrt_shared_gone(p, bytes);
    if (t)
        event(t, &r, bytes, fd, &s, shared);
}

/* Before a fork: what the child will have, too, and no event has said yet. */
void hnrt_shared_announce(struct hn_thread *t) {
    const struct stat nothing = {0};
    for (uint32_t i = 0; i < hnrt_shared_ranges && t->recording; i++) {
        struct range r = ranges[i];
        if (!r.last || r.announced || !(r.flags & MAP_ANONYMOUS))
            continue;
        ranges[i].announced = true;
        event(t, &r, r.last - r.first + 1, -1, &nothing, true);
    }
}
