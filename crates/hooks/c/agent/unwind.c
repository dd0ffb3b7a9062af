/* Call stacks of code that was compiled without us, by its unwind tables. The unwinder is linked in: it neither
 * allocates nor takes a lock that is not recursive. */
#include <unwind.h>

#include "agent.h"

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
extern const char __start_hn_entry_points[] __attribute__((visibility("hidden")));
extern const char __stop_hn_entry_points[] __attribute__((visibility("hidden")));

/* The same of a program that was compiled with the hooks and so brings entry points of its own. */
static const char *program_entry_points, *program_entry_points_end;

void hnag_unwind_init(void) {
    void (*entry_points)(const char **, const char **) = (void (*)(const char **, const char **))hnag_first("homenode_entry_points");
    if (entry_points)
        entry_points(&program_entry_points, &program_entry_points_end);
}

struct walk {
    struct hnag_frames *frames;
    unsigned most;
};

static bool within(uintptr_t pc, const char *from, const char *to) {
    return pc - (uintptr_t)from < (uintptr_t)to - (uintptr_t)from;
}

bool hnag_is_own(uintptr_t pc) {
    return within(pc, __ehdr_start, _end);
}

/* What lies between two entry points (operator new, then the malloc that it calls) is the library's own business. */
static _Unwind_Reason_Code one_frame(struct _Unwind_Context *context, void *argument) {
    struct walk *w = argument;
    uintptr_t pc = _Unwind_GetIP(context);
    if (!pc)
        return _URC_END_OF_STACK;
    bool entry_point = within(pc, __start_hn_entry_points, __stop_hn_entry_points + 1);
    if (entry_point || within(pc, program_entry_points, program_entry_points_end + 1))
        w->frames->depth = 0;
    else if (!hnag_is_own(pc) && w->frames->depth < w->most)
        w->frames->returns[w->frames->depth++] = pc;
    return w->frames->depth < w->most ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void hnag_unwind(struct hnag_frames *f, unsigned most) {
    struct walk w = {f, most < HNAG_FRAMES ? most : HNAG_FRAMES};
    f->depth = 0;
    _Unwind_Backtrace(one_frame, &w);
}

uint64_t hnag_fnv(uint64_t hash, uint64_t word, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++, word >>= 8)
        hash = (hash ^ (word & 0xff)) * HNAG_FNV_PRIME;
    return hash;
}

/* Over the innermost frames: eight bytes of the build id, then the return address as linked. */
uint64_t hnag_stack_hash(const struct hnag_frames *f) {
    uint64_t hash = HNAG_FNV_BASIS;
    for (unsigned i = 0; i < f->depth && i < HNAG_HASHED; i++) {
        struct hnag_module m = {0};
        hnag_module_at(f->returns[i] - 1, &m);
        hash = hnag_fnv(hash, m.build8, 8);
        hash = hnag_fnv(hash, f->returns[i] - m.bias, 8);
    }
    return hash;
}
