/* Under `homenode svm run`: the library that it preloads stands behind the program's own functions. Memory of the shared heap is that
 * library's to give: a mapping of ours would be shared by the processes of one host alone. Phases are told to both. That library tells
 * which memory is its heap, and which synchronisation happens on it. */
#include <dlfcn.h>

#include "real.h"
#include "runtime.h"

bool hnrt_in_svm(void) {
    if (!REAL(mmap) || !hnrt_real.homenode_svm_threads || !hnrt_real.homenode_svm_threads())
        return false;
    return hnrt_real.homenode_shared_alloc_for && hnrt_real.homenode_shared_free && hnrt_real.homenode_phase_begin &&
           hnrt_real.homenode_phase_end;
}

/* Whether code of that library is at this address. What it maps is not the program's: the heap is declared, and the rest is nobody's
 * to refer to. */
bool hnrt_by_svm(uintptr_t pc) {
    Dl_info library, at;
    if (!REAL(mmap) || !hnrt_real.homenode_svm_threads || !dladdr((void *)hnrt_real.homenode_svm_threads, &library))
        return false;
    return dladdr((void *)pc, &at) && at.dli_fbase == library.dli_fbase;
}

void hnrt_at_phase_begin(const char *name) {
    if (hnrt_in_svm())
        hnrt_real.homenode_phase_begin(name);
}

void hnrt_at_phase_end(const char *name) {
    if (hnrt_in_svm())
        hnrt_real.homenode_phase_end(name);
}

/* The heap of the job with this number: one memory, whichever node of this host has it mapped. */
EXPORT void homenode_recorded_heap(void *heap, size_t bytes, uint64_t job) {
    const struct hn_shared of = {HN_DEVICE_SVM, job, 0, PROT_READ | PROT_WRITE, MAP_SHARED};
    hnrt_mapped_shared(hnrt_recording(), heap, bytes, &of);
}

/* An acquire that is done, or a release that is about to be done, of what an address of the heap names. Other names are not the
 * same for all nodes. */
EXPORT void homenode_recorded_sync(void *name, unsigned what, uint64_t epoch, int acquires) {
    static const uint64_t kinds[] = {HN_SYNC_MUTEX,     HN_SYNC_BARRIER,   HN_SYNC_CONDITION, HN_SYNC_SIGNAL, HN_SYNC_BROADCAST,
                                     HN_SYNC_SEMAPHORE, HN_SYNC_ATOMIC,    HN_SYNC_THREAD,    HN_SYNC_JOIN};
    struct hn_thread *t = hnrt_recording();
    if (!t || what >= sizeof kinds / sizeof *kinds || !hnrt_shared_counter(name))
        return;
    if (acquires)
        hnrt_acquire(t, name, epoch, kinds[what]);
    else
        hnrt_release(t, name, epoch, kinds[what]);
}

/* The epoch of a barrier that the calling thread comes to, of `here` threads of this node and `all` of the cluster: every one of them comes
 * every time, so each node counts as all others do. */
EXPORT uint64_t homenode_recorded_arrival(void *name, unsigned here, unsigned all) {
    return hnrt_barrier_arrival(name, here, all);
}
