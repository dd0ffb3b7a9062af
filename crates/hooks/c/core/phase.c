/* Phases of the program, and the region of interest: references are recorded only inside phases of that name, events
 * always. */
#include "runtime.h"

uint32_t hnrt_roi_generation; /* changes whenever the region is entered or left */
static bool roi_set;
static uint32_t roi_depth; /* phases of that name that are open, over all threads */

/* Called with the control block in place. */
void hnrt_phase_init(void) {
    roi_set = hnrt_attached && *CONTROL32(HN_CONTROL_OFF_ROI_SET) == 1;
}

bool hnrt_roi_open(void) {
    return !roi_set || __atomic_load_n(&roi_depth, __ATOMIC_ACQUIRE);
}

static bool is_region(const char *name) {
    const char *roi = (const char *)hnrt_control + HN_CONTROL_OFF_ROI;
    if (!roi_set)
        return false;
    while (*name && *name == *roi)
        name++, roi++;
    return *name == *roi;
}

static void change(struct hn_thread *t, uint32_t by) {
    uint32_t depth = __atomic_load_n(&roi_depth, __ATOMIC_RELAXED);
    while (!(depth == 0 && by == UINT32_MAX) &&
           !__atomic_compare_exchange_n(&roi_depth, &depth, depth + by, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    __atomic_fetch_add(&hnrt_roi_generation, 1, __ATOMIC_ACQ_REL);
    if (t)
        hnrt_route(t);
}

/* The thread that begins or ends a phase switches at once, the others when they next synchronise, and at the latest
 * after a batch. */
EXPORT void homenode_phase_begin(const char *name) {
    struct hn_thread *t = hnrt_self ? hnrt_self : hnrt_thread_attach();
    if (t && t->recording)
        hnrt_event_text(t, HN_EVENT_PHASE_BEGIN, 0, 0, name);
    if (is_region(name))
        change(t, 1);
    hnrt_at_phase_begin(name);
}

EXPORT void homenode_phase_end(const char *name) {
    hnrt_at_phase_end(name);
    struct hn_thread *t = hnrt_self ? hnrt_self : hnrt_thread_attach();
    if (is_region(name))
        change(t, UINT32_MAX);
    if (t && t->recording)
        hnrt_event_text(t, HN_EVENT_PHASE_END, 0, 0, name);
}
