/* The beginning: every object compiled with the hooks has a constructor that calls __tsan_init. */
#include "os.h"
#include "real.h"
#include "runtime.h"

enum { NOT_YET, RUNNING, READY };

/* Finds the real functions and attaches to the recorder; once. Does not attach the calling thread. */
void hnrt_init(void) {
    static uint32_t state;
    uint32_t before = NOT_YET;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == READY)
        return;
    if (!__atomic_compare_exchange_n(&state, &before, RUNNING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return; /* by another thread, or by ourselves further out */
    hnrt_real_resolve();
    hnrt_control_open();
    hnrt_phase_init();
    hnrt_thread_key_init();
    hnrt_fork_init();
    hnrt_exit_init();
    __atomic_store_n(&state, READY, __ATOMIC_RELEASE);
}

EXPORT void __tsan_init(void) {
    hnrt_init();
    if (!hnrt_self)
        hnrt_thread_attach();
    if (hnrt_attached)
        hnrt_modules_scan(hnrt_self);
}
