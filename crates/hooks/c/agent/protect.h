/* Sampling of page use by protection, for machines whose kernel makes no hinting faults. Pages chosen at random lose
 * all access for a while; whoever touches one first is a sample, and the page is whole again before the access goes on.
 *
 * No system call ever meets a protected page: Syscall User Dispatch (Linux 5.11, x86-64) hands every system call of the
 * program to protect_calls.c first, also those that the C library makes inside. There the thread says which memory the
 * call may reach, what is protected of that is made whole, and as long as the call lasts none of it is protected again.
 * What the agent does not understand counts as reaching everything: while any thread is inside such a call, nothing is
 * protected at all.
 *
 * Reading order: protect_gate.c (what is protected, and who forbids it), protect_fault.c, protect_calls.c (with
 * protect_table.c), protect_signals.c, protect_stub.c, protect_threads.c, protect_window.c (chooses pages, keeps the
 * budget), protect.c. */
#pragma once
#include <signal.h>

#include "agent.h"

/* ---- the file shared with the recorder (the same numbers in capture/src/protect.rs) ------------------------------- */

#define HNAG_PROTECT_ENV "HOMENODE_AGENT_PROTECT"
#define HNAG_PROTECT_MAGIC UINT64_C(0x3130544f52504e48) /* "HNPROT01" */
#define HNAG_PROTECT_SLOTS 16384u
#define HNAG_PROTECT_BYTES (4096 + HNAG_PROTECT_SLOTS * sizeof(struct hnag_sample))

struct hnag_shared {
    uint64_t magic;
    uint32_t permille, stop; /* set by the recorder: overhead bound; not 0: sample no more */
    uint64_t most_per_second;
    uint8_t pad0[40];
    uint64_t head; /* samples taken, by all processes together */
    uint8_t pad1[56];
    uint64_t tail; /* samples read */
    uint8_t pad2[56];
    uint64_t lost, spent_ns, calls, opened, expired;
    uint32_t sampling, why_not; /* processes that sample; last enum hnag_why of one that does not */
    uint64_t fault_ns, call_ns; /* measured cost of a sample and of a system call */
};
_Static_assert(offsetof(struct hnag_shared, head) == 64, "head");
_Static_assert(offsetof(struct hnag_shared, tail) == 128, "tail");
_Static_assert(offsetof(struct hnag_shared, lost) == 192, "lost");
_Static_assert(offsetof(struct hnag_shared, sampling) == 232, "sampling");

struct hnag_sample {
    uint64_t ready; /* number of the sample plus one, once the rest is there */
    uint64_t time_ns;
    uint32_t pid, tid, cpu, op;
    uint64_t ip, addr, pad[2];
};
_Static_assert(sizeof(struct hnag_sample) == 64, "sample");

enum hnag_why { WHY_OK, WHY_KERNEL, WHY_MEMORY, WHY_PROGRAM, WHY_MAPPINGS, WHY_CALLS };

extern struct hnag_shared *hnag_shared; /* NULL: not sampling */
extern bool hnag_protect_over;          /* nothing is ever protected again */
extern bool hnag_calibrating;           /* samples are not the program's */
void hnag_protect_end(enum hnag_why why);
void hnag_put_sample(uint64_t addr, uint64_t ip, uint32_t tid, bool write);

/* ---- threads ------------------------------------------------------------------------------------------------------ */

enum hnag_state {
    HNAG_OUT,       /* in the program's code */
    HNAG_IN,        /* in a system call that may reach `range` */
    HNAG_ALL,       /* in one that may reach everything */
    HNAG_UNTRACKED, /* its system calls are not seen */
    HNAG_EXITING,
    HNAG_ZOMBIE, /* the initial thread after its end */
};

struct hnag_reach {
    uint64_t lo, hi;
};
#define HNAG_REACHES 4
struct hnag_slot {
    uint32_t state;  /* first: protect_stub.c stores it. Set under the gate, except back to what it was */
    uint32_t before; /* for calls that return twice, as in struct hnag_record */
    uint64_t resume;
    uint32_t tid; /* 0: free */
    uint8_t selector, creating, reaches;
    struct hnag_reach reach[HNAG_REACHES];
    uint64_t odd_addr, odd_ip, odd_epoch; /* last fault that nothing explains */
    void *alternate;
};
#define HNAG_THREADS 1024
extern struct hnag_slot hnag_slots[HNAG_THREADS];
extern uint32_t hnag_slots_used; /* slots from here on were never taken */
extern TLS struct hnag_slot *hnag_slot;
void hnag_threads_look(void);
bool hnag_threads_known(void);

/* ---- the gate ----------------------------------------------------------------------------------------------------- */

#define HNAG_OPEN_MOST 128 /* pages protected at a time: at most twice as many mappings more */
extern uint64_t hnag_epoch; /* changes whenever anything is protected or made whole */
extern uint32_t hnag_open_count;
void hnag_gate_lock(void);
void hnag_gate_unlock(void);
void hnag_area_add(uint64_t lo, uint64_t hi);
void hnag_area_forget(uint64_t lo, uint64_t hi);
bool hnag_gate_hit(uint64_t addr);
bool hnag_gate_open(uint64_t random, uint64_t now_ns);
void hnag_gate_expire(uint64_t before_ns);
void hnag_gate_close_all(void);
/* Publishes what a system call may reach (NULL: everything) and returns the state before. */
uint32_t hnag_enter_kernel(struct hnag_slot *s, const struct hnag_reach *r, unsigned n, uint64_t ip, unsigned writes);
void hnag_enter_state(struct hnag_slot *s, enum hnag_state state);

/* ---- signals ------------------------------------------------------------------------------------------------------ */

struct hnag_action {
    void (*handler)(int, siginfo_t *, void *);
    uint64_t flags;
    void *restorer;
    uint64_t mask;
};
#define HNAG_BIT(signal) (UINT64_C(1) << ((signal) - 1))
#define HNAG_OURS (HNAG_BIT(SIGSEGV) | HNAG_BIT(SIGSYS))
void hnag_signals_init(void);
void hnag_signals_give_back(void);
void hnag_signals_pass(int signal, siginfo_t *info, void *context);
long hnag_signals_change(int signal, const struct hnag_action *act, struct hnag_action *old);
void hnag_on_fault(int signal, siginfo_t *info, void *context);
void hnag_on_call(int signal, siginfo_t *info, void *context);

/* ---- system calls ------------------------------------------------------------------------------------------------- */

/* Bytes of stack that a call through the stub uses: the red zone, and what struct hnag_record has. */
#define HNAG_STUB_STACK 192
struct hnag_record {
    uint64_t resume, before;
    uint64_t mask, pair[2];
};
void hnag_stub(void);
void hnag_stub_twice(void);
void hnag_restorer(void);
/* Describes what call `nr` may reach; entries used, or -1: everything. `writes`: bits of ranges that it writes. */
int hnag_call_reach(long nr, const uint64_t *argument, struct hnag_reach *r, unsigned *writes);

/* ---- window thread ------------------------------------------------------------------------------------------------ */

bool hnag_window_start(void);
void hnag_window_end(void);
uint64_t hnag_now_ns(long clock);
bool hnag_user_read(void *to, uint64_t from, uint64_t bytes);
bool hnag_user_write(uint64_t to, const void *from, uint64_t bytes);
