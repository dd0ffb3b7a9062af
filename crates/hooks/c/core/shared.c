/* Memory that other processes may have, too: shared mappings. Synchronisation objects in it take their numbers from counters
 * that all processes of the recording have, chosen by the object's place in the memory and not by its address, so that
 * numbers of different processes can be compared. The counters lie in a file beside the rings. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
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
    struct hn_shared of;
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
            return &counters[mixed(r->memory, r->of.offset + (at - r->first)) >> 48];
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
            part.of.offset += part.first - old.first;
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

static struct range range_of(const void *p, size_t bytes, uint64_t memory, const struct hn_shared *of) {
    uintptr_t first = (uintptr_t)p;
    return (struct range){first, first + ((bytes - 1) | 4095), memory, *of, false};
}

/* Anonymous memory that only a fork shares: no event until then. */
void hnrt_shared_anonymous(const void *p, size_t bytes) {
    const struct hn_shared of = {.prot = PROT_READ | PROT_WRITE, .flags = MAP_SHARED | MAP_ANONYMOUS};
    note(range_of(p, bytes, mixed(os_stamp(), (uintptr_t)p), &of));
}

/* Only a mapping whose memory other processes may have says where in it it begins. */
static void event(struct hn_thread *t, const struct range *r, uint64_t bytes, bool shared) {
    uint64_t *slot = hnrt_reserve(t, shared ? 4 : 3);
    if (!slot)
        return;
    slot[0] = hnrt_event_word(HN_EVENT_MAP, r->first, shared ? 3 : 2);
    slot[1] = bytes;
    slot[2] = (uint64_t)(uint32_t)r->of.prot << 32 | (uint32_t)r->of.flags;
    slot[3] = 0;
    slot[4] = r->of.device;
    slot[5] = r->of.inode;
    if (shared) {
        slot[6] = r->of.offset;
        slot[7] = 0;
    }
    hnrt_commit(t, shared ? 4 : 3);
}

/* A mapping of memory that other processes may have, too. */
void hnrt_mapped_shared(struct hn_thread *t, const void *p, size_t bytes, const struct hn_shared *of) {
    bool anonymous = of->flags & MAP_ANONYMOUS;
    struct range r =
        range_of(p, bytes, anonymous ? mixed(os_stamp(), (uintptr_t)p) : mixed(of->device, of->inode), of);
    r.announced = t != NULL;
    bool shared = note(r);
    if (t)
        event(t, &r, bytes, shared);
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
    const struct hn_shared of = {s.st_dev, s.st_ino, anonymous ? 0 : offset, prot, flags};
    if (shared)
        return hnrt_mapped_shared(t, p, bytes, &of);
    hnrt_shared_gone(p, bytes);
    struct range r = range_of(p, bytes, 0, &of);
    if (t)
        event(t, &r, bytes, false);
}

/* What of which file lies at an address. */
bool hnrt_shared_at(const void *p, struct hn_shared *of) {
    uintptr_t at = (uintptr_t)p;
    for (uint32_t i = 0; i < hnrt_shared_ranges; i++) {
        const struct range *r = &ranges[i];
        if (!r->last || r->last < at || at < r->first || r->of.flags & MAP_ANONYMOUS)
            continue;
        *of = r->of;
        of->offset += at - r->first;
        return true;
    }
    return false;
}

/* A segment of System V that was attached. Returns its bytes, 0 if they cannot be known. */
size_t hnrt_segment(struct hn_thread *t, const void *p, int id, int flags) {
    struct shmid_ds s;
    int saved = errno, failed = shmctl(id, IPC_STAT, &s);
    errno = saved;
    if (failed || !s.shm_segsz)
        return 0;
    const struct hn_shared of = {HN_DEVICE_SEGMENT, (uint32_t)id, 0,
                                 flags & SHM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED};
    hnrt_mapped_shared(t, p, s.shm_segsz, &of);
    return s.shm_segsz;
}

/* The bytes of the segment of System V that was attached at this address; 0 if there is none. */
size_t hnrt_segment_bytes(const void *p) {
    for (uint32_t i = 0; i < hnrt_shared_ranges; i++) {
        const struct range *r = &ranges[i];
        if (r->last && r->first == (uintptr_t)p && r->of.device == HN_DEVICE_SEGMENT)
            return r->last - r->first + 1;
    }
    return 0;
}

/* Before a fork: what the child will have, too, and no event has said yet. */
void hnrt_shared_announce(struct hn_thread *t) {
    for (uint32_t i = 0; i < hnrt_shared_ranges && t->recording; i++) {
        struct range r = ranges[i];
        if (!r.last || r.announced || !(r.of.flags & MAP_ANONYMOUS))
            continue;
        ranges[i].announced = true;
        event(t, &r, r.last - r.first + 1, true);
    }
}
