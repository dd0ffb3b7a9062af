/* Under `homenode svm run`: the library that it preloads stands behind the program's own functions. Memory of the shared heap is that
 * library's to give: a mapping of ours would be shared by the processes of one host alone. Phases are told to both. */
#include "real.h"
#include "runtime.h"

bool hnrt_in_svm(void) {
    if (!REAL(mmap) || !hnrt_real.homenode_svm_threads || !hnrt_real.homenode_svm_threads())
        return false;
    return hnrt_real.homenode_shared_alloc_for && hnrt_real.homenode_shared_free && hnrt_real.homenode_phase_begin &&
           hnrt_real.homenode_phase_end;
}

void hnrt_at_phase_begin(const char *name) {
    if (hnrt_in_svm())
        hnrt_real.homenode_phase_begin(name);
}

void hnrt_at_phase_end(const char *name) {
    if (hnrt_in_svm())
        hnrt_real.homenode_phase_end(name);
}
