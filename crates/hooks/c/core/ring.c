/* Ring files: claimed, created and mapped by the program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "os.h"
#include "runtime.h"

static uint64_t ring_bytes(uint32_t index) {
    uint64_t size = HN_RING_BYTES_MAX, left = index;
    while (size > HN_RING_BYTES_MIN && left >= HN_RING_CLASS_BYTES / size) {
        left -= HN_RING_CLASS_BYTES / size;
        size /= 2;
    }
    return size;
}

uint8_t *hnrt_entry(uint32_t index) {
    return hnrt_control + HN_CONTROL_OFF_TABLE + (uint64_t)index * HN_ENTRY_BYTES;
}

static void set_state(uint32_t index, uint32_t state) {
    __atomic_store_n((uint32_t *)(hnrt_entry(index) + HN_ENTRY_OFF_STATE), state, __ATOMIC_RELEASE);
}

static void no_ring(const char *why) {
    static uint32_t said;
    __atomic_fetch_add(CONTROL64(HN_CONTROL_OFF_UNRINGED), 1, __ATOMIC_RELAXED);
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        hnrt_complain(why);
}

/* The index of a new ring whose file does not exist yet, or HN_NO_PARENT. The counter may run past the table, never
 * back. */
uint32_t hnrt_ring_claim(uint32_t parent) {
    uint32_t *next = CONTROL32(HN_CONTROL_OFF_NEXT_RING), free = HN_ENTRY_FREE;
    uint32_t index = __atomic_load_n(next, __ATOMIC_RELAXED);
    if (index < HN_RINGS_MAX)
        index = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    uint8_t *entry = hnrt_entry(index);
    if (index >= HN_RINGS_MAX ||
        !__atomic_compare_exchange_n((uint32_t *)entry, &free, HN_ENTRY_CLAIMED, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
        no_ring("too many threads: this one is not recorded");
        return HN_NO_PARENT;
    }
    *(uint32_t *)(entry + HN_ENTRY_OFF_PID) = hnrt_pid;
    *(uint32_t *)(entry + HN_ENTRY_OFF_TID) = 0;
    *(uint32_t *)(entry + HN_ENTRY_OFF_PARENT) = parent;
    return index;
}

static char *append(char *to, const char *text) {
    while (*text)
        *to++ = *text++;
    *to = 0;
    return to;
}

/* DIRECTORY/NUMBER.KIND; the directories are known to fit. */
static void path_of(char *path, const char *directory, uint32_t number, const char *kind) {
    char digits[12], *d = digits + sizeof digits;
    *--d = 0;
    do
        *--d = (char)('0' + number % 10);
    while (number /= 10);
    append(append(append(append(path, directory), "/"), d), kind);
}

/* Gives the file its blocks, so that a full disk is an error here and not a SIGBUS later. */
static bool reserve(int fd, uint64_t bytes) {
    static const uint8_t zeros[4096];
    long result;
    do
        result = os(SYS_fallocate, fd, 0, 0, bytes);
    while (result == -EINTR);
    if (result != -EOPNOTSUPP && result != -ENOSYS)
        return !os_failed(result);
    for (uint64_t at = 0; at < bytes; at += sizeof zeros)
        if (os(SYS_pwrite64, fd, zeros, sizeof zeros, at) != sizeof zeros)
            return false;
    return true;
}

/* As reserve, without the SIGXFSZ that a limit on the size of files (ulimit -f) sends with its error and that would kill the
   program: it is blocked meanwhile, and taken out if it was not pending before. */
static bool allocate(int fd, uint64_t bytes) {
    uint64_t xfsz = UINT64_C(1) << (SIGXFSZ - 1), before = 0, pending = 0;
    bool masked = !os_failed(os(SYS_rt_sigprocmask, SIG_BLOCK, &xfsz, &before, sizeof before));
    bool was_pending = os_failed(os(SYS_rt_sigpending, &pending, sizeof pending)) || (pending & xfsz);
    bool done = reserve(fd, bytes);
    if (masked) {
        struct timespec now = {0, 0};
        if (!done && !was_pending)
            os(SYS_rt_sigtimedwait, &xfsz, NULL, &now, sizeof xfsz);
        os(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    }
    return done;
}

static struct hn_ring *map_file(const char *path, uint64_t bytes) {
    long fd = os(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (os_failed(fd))
        return NULL;
    long address = -1;
    if (allocate((int)fd, HN_RING_HEADER_BYTES + bytes))
        address = os(SYS_mmap, 0, HN_RING_HEADER_BYTES + bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                     fd, 0);
    os(SYS_close, fd);
    if (!os_failed(address))
        return (struct hn_ring *)address;
    os(SYS_unlinkat, AT_FDCWD, path, 0);
    return NULL;
}

/* Where files for the recorder are made: in memory, or on the disk where that is full or gone. */
static const uint64_t places[] = {HN_CONTROL_OFF_MEMORY, HN_CONTROL_OFF_DIR};

static struct hn_ring *map_anywhere(uint32_t index, uint64_t bytes) {
    char path[HN_CONTROL_OFF_TABLE];
    struct hn_ring *r = NULL;
    for (unsigned i = 0; i < 2 && !r; i++) {
        const char *directory = (const char *)hnrt_control + places[i];
        if (!*directory)
            continue;
        path_of(path, directory, index, ".ring");
        r = map_file(path, bytes);
    }
    return r;
}

/* The ring file of a claimed index, mapped and published to the recorder, or NULL. */
struct hn_ring *hnrt_ring_create(uint32_t index) {
    uint64_t bytes = ring_bytes(index);
    struct hn_ring *r = map_anywhere(index, bytes);
    if (!r) {
        hnrt_entry_done(index);
        no_ring("cannot create a ring file (disk full?): this thread is not recorded");
        return NULL;
    }
    r->bytes = bytes;
    r->base = r->cursor = r->batch_start = (uintptr_t)r + HN_RING_HEADER_BYTES;
    r->index = index;
    __atomic_store_n(&r->magic, HN_RING_MAGIC, __ATOMIC_RELEASE);
    *(uint64_t *)(hnrt_entry(index) + HN_ENTRY_OFF_BYTES) = bytes;
    set_state(index, HN_ENTRY_ACTIVE);
    return r;
}

static bool write_file(const char *path, const uint8_t *from, uint64_t bytes) {
    long fd = os(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (os_failed(fd))
        return false;
    bool done = allocate((int)fd, bytes);
    while (done && bytes) {
        long wrote = os(SYS_write, fd, from, bytes);
        done = wrote > 0 || wrote == -EINTR;
        from += wrote > 0 ? wrote : 0;
        bytes -= wrote > 0 ? (uint64_t)wrote : 0;
    }
    os(SYS_close, fd);
    if (!done)
        os(SYS_unlinkat, AT_FDCWD, path, 0);
    return done;
}

/* Writes the file of the blocks that are numbered from `before` + 1 on; false if it can be written nowhere. */
bool hnrt_file_of_blocks(uint32_t before, const uint64_t *words, uint64_t bytes) {
    char path[HN_CONTROL_OFF_TABLE];
    for (unsigned i = 0; i < 2; i++) {
        const char *directory = (const char *)hnrt_control + places[i];
        if (!*directory)
            continue;
        path_of(path, directory, before, ".blocks");
        if (write_file(path, (const uint8_t *)words, bytes))
            return true;
    }
    return false;
}

void hnrt_ring_unmap(struct hn_ring *r) {
    os(SYS_munmap, r, HN_RING_HEADER_BYTES + r->bytes);
}

void hnrt_entry_done(uint32_t index) {
    set_state(index, HN_ENTRY_DONE);
    hnrt_doorbell();
}
