/* The signal that a protected page raises. */
#ifdef __x86_64__
#include <ucontext.h>

#include "os.h"
#include "protect.h"

#define STACK_NEAR 65536
#define ERROR_WRITE 2

static uint32_t processor(void) {
    uint32_t aux;
    __builtin_ia32_rdtscp(&aux);
    return aux & 0xfff; /* Linux keeps processor and node there */
}

/* Numbers are given to several processes; the recorder takes a sample when its own number stands in it. */
void hnag_put_sample(uint64_t addr, uint64_t ip, uint32_t tid, bool write) {
    struct hnag_shared *h = hnag_shared;
    if (hnag_calibrating)
        return;
    enum { MARGIN = 64 }; /* more than processors that get here at one time */
    uint64_t used = __atomic_load_n(&h->head, __ATOMIC_RELAXED) - __atomic_load_n(&h->tail, __ATOMIC_ACQUIRE);
    if (used > HNAG_PROTECT_SLOTS - MARGIN) {
        __atomic_fetch_add(&h->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    uint64_t number = __atomic_fetch_add(&h->head, 1, __ATOMIC_RELAXED);
    struct hnag_sample *s = (struct hnag_sample *)((uint8_t *)h + 4096) + number % HNAG_PROTECT_SLOTS;
    s->time_ns = hnag_now_ns(1 /* CLOCK_MONOTONIC */);
    s->pid = hnrt_pid;
    s->tid = tid;
    s->cpu = processor();
    s->op = write;
    s->ip = ip;
    s->addr = addr;
    __atomic_store_n(&s->ready, number + 1, __ATOMIC_RELEASE);
}

/* A fault on a page that is whole: another thread may have made it whole a moment ago. Then the access goes on. If
 * the same access faults again although nothing has been protected or made whole in between, it is the program's own. */
static bool explained(uint64_t addr, uint64_t ip) {
    struct hnag_slot *s = hnag_slot;
    uint64_t epoch = __atomic_load_n(&hnag_epoch, __ATOMIC_SEQ_CST);
    if (!s || (s->odd_addr == addr && s->odd_ip == ip && s->odd_epoch == epoch))
        return false;
    s->odd_addr = addr;
    s->odd_ip = ip;
    s->odd_epoch = epoch;
    return true;
}

void hnag_on_fault(int signal, siginfo_t *info, void *context) {
    const greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t addr = (uintptr_t)info->si_addr, ip = (uint64_t)g[REG_RIP], sp = (uint64_t)g[REG_RSP];
    if (info->si_code != SEGV_ACCERR)
        return hnag_signals_pass(signal, info, context);
    if (!hnag_gate_hit(addr)) {
        if (!explained(addr, ip))
            hnag_signals_pass(signal, info, context);
        return;
    }
    __atomic_fetch_add(&hnag_shared->spent_ns, hnag_shared->fault_ns, __ATOMIC_RELAXED);
    /* A stack of the program's own making: the kernel must always find room for a signal there. */
    if (addr + STACK_NEAR - sp < 2 * STACK_NEAR)
        return hnag_area_forget(addr & ~(HNAG_PAGE - 1), addr + 1);
    if (hnag_slot)
        hnag_put_sample(addr, ip, hnag_slot->tid, g[REG_ERR] & ERROR_WRITE);
}
#endif
