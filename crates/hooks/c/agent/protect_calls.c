/* Every system call of the program comes here first, as a signal at its instruction. */
#ifdef __x86_64__
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "os.h"
#include "protect.h"

#define USER_DISPATCH 2 /* si_code; older headers lack its name */
#define ARCH_X86_64 0xc000003eu
#define INSTRUCTION 2
#define FRAME_BYTES 4096
#define HEAP_MOST (UINT64_C(1) << 40)
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

struct call {
    struct hnag_slot *slot;
    ucontext_t *context;
    greg_t *g;
    long nr;
    uint64_t a[6];
};

/* ---- memory of the program, which may not be there ---------------------------------------------------------------- */

static bool transfer(long nr, void *own, uint64_t theirs, uint64_t bytes) {
    struct iovec here = {own, bytes}, there = {(void *)theirs, bytes};
    return os(nr, hnrt_pid, &here, 1, &there, 1, 0) == (long)bytes;
}

bool hnag_user_read(void *to, uint64_t from, uint64_t bytes) {
    return transfer(SYS_process_vm_readv, to, from, bytes);
}

bool hnag_user_write(uint64_t to, const void *from, uint64_t bytes) {
    return transfer(SYS_process_vm_writev, (void *)from, to, bytes);
}

/* ---- ways to go on ------------------------------------------------------------------------------------------------- */

/* The call is repeated where it stands, and neither it nor any other of this thread is seen from then on. Nothing is
 * protected meanwhile. Only the thread itself can go back (hnag_protect_created): it may have blocked the signal that
 * shows us its calls, and then the next one would kill it. */
static void go_unseen(struct call *c) {
    hnag_enter_state(c->slot, HNAG_UNTRACKED);
    c->slot->selector = 0;
    c->g[REG_RIP] -= INSTRUCTION;
    c->g[REG_RAX] = c->nr;
}

/* A call that returns twice. The child is not seen; as long as it may share the memory, this thread is in the call. */
static void create(struct call *c) {
    uint64_t flags = 0;
    if (c->nr == SYS_clone)
        flags = c->a[0];
    else if (c->nr == SYS_clone3 && !hnag_user_read(&flags, c->a[0], sizeof flags))
        flags = CLONE_SETTLS;
    bool nested = c->slot->state != HNAG_OUT, shares = (flags & CLONE_VM) && !(flags & CLONE_VFORK);
    if (nested || (!c->slot->creating && (shares || (flags & CLONE_SETTLS))))
        hnag_protect_end(WHY_PROGRAM);
    if (hnag_protect_over || c->slot->creating)
        return go_unseen(c);
    c->slot->before = hnag_enter_kernel(c->slot, NULL, 0, 0, 0);
    c->slot->resume = (uint64_t)c->g[REG_RIP];
    c->g[REG_RAX] = c->nr;
    c->g[REG_RIP] = (greg_t)(uintptr_t)hnag_stub_twice;
}

/* The call returns this. */
static void answer(struct call *c, long result, uint32_t before) {
    __atomic_store_n(&c->slot->state, before, __ATOMIC_SEQ_CST);
    c->g[REG_RAX] = result;
}

static struct hnag_record *record_of(struct call *c) {
    return (struct hnag_record *)(c->g[REG_RSP] - HNAG_STUB_STACK);
}

/* The call is carried out by the stub; what it may reach was published. */
static void go_to_stub(struct call *c, uint32_t before) {
    struct hnag_record *r = record_of(c);
    r->resume = (uint64_t)c->g[REG_RIP];
    r->before = before;
    c->g[REG_RSP] = (greg_t)(uintptr_t)r;
    c->g[REG_RAX] = c->nr;
    c->g[REG_RIP] = (greg_t)(uintptr_t)hnag_stub;
}

static uint32_t enter(struct call *c, struct hnag_reach *r, int n, unsigned writes) {
    if (n < 0)
        return hnag_enter_kernel(c->slot, NULL, 0, 0, 0);
    uint64_t record = (uint64_t)(uintptr_t)record_of(c);
    r[n] = (struct hnag_reach){record, record + sizeof(struct hnag_record)};
    return hnag_enter_kernel(c->slot, r, (unsigned)n + 1, (uint64_t)c->g[REG_RIP], writes);
}

static void ordinary(struct call *c) {
    struct hnag_reach r[HNAG_REACHES];
    unsigned writes = 0;
    int n = hnag_call_reach(c->nr, c->a, r, &writes);
    go_to_stub(c, enter(c, r, n, writes));
}

/* ---- masks: the two signals of ours are never blocked, and the program is told so ---------------------------------- */

static void change_mask(struct call *c) {
    uint64_t *mask = (uint64_t *)&c->context->uc_sigmask, set = 0;
    uint64_t old = *mask & ~HNAG_OURS;
    uint32_t before = hnag_enter_kernel(c->slot, NULL, 0, 0, 0);
    if (c->a[3] != sizeof set)
        return answer(c, -EINVAL, before);
    if (c->a[1] && !hnag_user_read(&set, c->a[1], sizeof set))
        return answer(c, -EFAULT, before);
    uint64_t now = c->a[0] == SIG_BLOCK ? old | set : c->a[0] == SIG_UNBLOCK ? old & ~set : set;
    if (c->a[1] && c->a[0] != SIG_BLOCK && c->a[0] != SIG_UNBLOCK && c->a[0] != SIG_SETMASK)
        return answer(c, -EINVAL, before);
    if (c->a[2] && !hnag_user_write(c->a[2], &old, sizeof old))
        return answer(c, -EFAULT, before);
    if (c->a[1])
        *mask = now & ~HNAG_OURS;
    answer(c, 0, before);
}

/* A call that waits with a mask of its own gets a copy of it. */
static void waiting_with_mask(struct call *c, int register_of_mask, uint64_t mask_at) {
    uint32_t before = enter(c, NULL, -1, 0);
    uint64_t set;
    struct hnag_record *r = record_of(c);
    if (mask_at && hnag_user_read(&set, mask_at, sizeof set)) {
        r->mask = set & ~HNAG_OURS;
        c->g[register_of_mask] = (greg_t)(uintptr_t)&r->mask;
    }
    go_to_stub(c, before);
}

/* Its sixth argument points to a pointer to the mask and its size. */
static void pselect_with_mask(struct call *c) {
    uint32_t before = enter(c, NULL, -1, 0);
    uint64_t pair[2], set;
    struct hnag_record *r = record_of(c);
    if (c->a[5] && hnag_user_read(pair, c->a[5], sizeof pair) && pair[0] && hnag_user_read(&set, pair[0], sizeof set)) {
        r->mask = set & ~HNAG_OURS;
        r->pair[0] = (uint64_t)(uintptr_t)&r->mask;
        r->pair[1] = pair[1];
        c->g[REG_R9] = (greg_t)(uintptr_t)r->pair;
    }
    go_to_stub(c, before);
}

static void change_action(struct call *c) {
    struct hnag_action act, old;
    uint32_t before = hnag_enter_kernel(c->slot, NULL, 0, 0, 0);
    if (c->a[3] != sizeof act.mask)
        return answer(c, -EINVAL, before);
    if (c->a[1] && !hnag_user_read(&act, c->a[1], sizeof act))
        return answer(c, -EFAULT, before);
    long result = hnag_signals_change((int)c->a[0], c->a[1] ? &act : NULL, &old);
    if (!result && c->a[2] && !hnag_user_write(c->a[2], &old, sizeof old))
        result = -EFAULT;
    answer(c, result, before);
}

/* The end of a handler of the program: the mask that it goes back to lies in its frame. */
static void end_of_handler(struct call *c) {
    struct hnag_reach r = {(uint64_t)c->g[REG_RSP], (uint64_t)c->g[REG_RSP] + FRAME_BYTES};
    uint32_t before = hnag_enter_kernel(c->slot, &r, 1, 0, 0);
    uint64_t at = r.lo + offsetof(ucontext_t, uc_sigmask), mask;
    if (hnag_user_read(&mask, at, sizeof mask) && (mask & HNAG_OURS)) {
        mask &= ~HNAG_OURS;
        hnag_user_write(at, &mask, sizeof mask);
    }
    hnag_area_forget(r.lo, r.hi); /* a stack of the program's own making */
    answer(c, SYS_rt_sigreturn, before);
    c->g[REG_RIP] = (greg_t)(uintptr_t)hnag_stub;
}

/* ---- calls that change what memory or threads there are ------------------------------------------------------------ */

static void change_memory(uint64_t addr, uint64_t bytes) {
    uint64_t end;
    if (bytes && !__builtin_add_overflow(addr, (bytes + HNAG_PAGE - 1) & ~(HNAG_PAGE - 1), &end))
        hnag_area_forget(addr, end);
}

static void alternate_stack(struct call *c) {
    stack_t s;
    uint32_t before = hnag_enter_kernel(c->slot, NULL, 0, 0, 0);
    if (c->a[0] && hnag_user_read(&s, c->a[0], sizeof s))
        hnag_area_forget((uintptr_t)s.ss_sp, (uintptr_t)s.ss_sp + s.ss_size);
    go_to_stub(c, before);
}

/* Calls after which sampling by protection would not be safe, or would be in the way. */
static bool ends_sampling(const struct call *c) {
    switch (c->nr) {
    case SYS_prctl:
        return c->a[0] == PR_SET_SECCOMP || c->a[0] == PR_SET_SYSCALL_USER_DISPATCH || c->a[0] == PR_SET_DUMPABLE;
    case SYS_seccomp: case SYS_unshare: case SYS_setns: case SYS_io_setup: case SYS_io_uring_setup:
    case SYS_userfaultfd: case SYS_chroot: case SYS_remap_file_pages: case SYS_shmat:
    case SYS_setuid: case SYS_setgid: case SYS_setreuid: case SYS_setregid: case SYS_setresuid: case SYS_setresgid:
    case SYS_setgroups: case SYS_capset: case SYS_setfsuid: case SYS_setfsgid:
        return true;
    default:
        return false;
    }
}

static void memory_calls(struct call *c) {
    switch (c->nr) {
    case SYS_mremap:
        if (c->a[3] & MREMAP_FIXED)
            change_memory(c->a[4], c->a[2]);
        change_memory(c->a[0], c->a[1] ? c->a[1] : 1);
        break;
    case SYS_mmap:
        if (!(c->a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
            break;
        /* fall through */
    case SYS_munmap: case SYS_mprotect: case SYS_pkey_mprotect: case SYS_set_robust_list: case SYS_rseq:
        change_memory(c->a[0], c->a[1]);
        break;
    case SYS_brk:
        if (c->a[0])
            change_memory(c->a[0], HEAP_MOST);
        break;
    case SYS_set_tid_address:
        change_memory(c->a[0], sizeof(int));
        break;
    default:
        break;
    }
}

static bool special(struct call *c) {
    switch (c->nr) {
    case SYS_rt_sigreturn: end_of_handler(c); return true;
    case SYS_rt_sigprocmask: change_mask(c); return true;
    case SYS_rt_sigaction: change_action(c); return true;
    case SYS_sigaltstack: alternate_stack(c); return true;
    case SYS_ppoll: waiting_with_mask(c, REG_R10, c->a[3]); return true;
    case SYS_epoll_pwait: case SYS_epoll_pwait2: waiting_with_mask(c, REG_R8, c->a[4]); return true;
    case SYS_rt_sigsuspend: waiting_with_mask(c, REG_RDI, c->a[0]); return true;
    case SYS_pselect6: pselect_with_mask(c); return true;
    case SYS_clone: case SYS_clone3: case SYS_fork: case SYS_vfork: create(c); return true;
    case SYS_exit:
        hnag_enter_state(c->slot, HNAG_EXITING);
        c->g[REG_RAX] = c->nr;
        c->g[REG_RIP] = (greg_t)(uintptr_t)hnag_stub;
        return true;
    default:
        return false;
    }
}

static void dispatched(struct call *c) {
    __atomic_fetch_add(&hnag_shared->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&hnag_shared->spent_ns, hnag_shared->call_ns, __ATOMIC_RELAXED);
    if (ends_sampling(c))
        hnag_protect_end(WHY_PROGRAM);
    if (hnag_protect_over && c->slot->state == HNAG_OUT)
        return go_unseen(c);
    memory_calls(c);
    if (!special(c))
        ordinary(c);
}

void hnag_on_call(int signal, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    greg_t *g = u->uc_mcontext.gregs;
    struct call c = {hnag_slot, u, g, info->si_syscall, {0}};
    if (info->si_code != USER_DISPATCH || !c.slot)
        return hnag_signals_pass(signal, info, context);
    static const int order[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    for (unsigned i = 0; i < 6; i++)
        c.a[i] = (uint64_t)g[order[i]];
    if (info->si_arch != ARCH_X86_64) {
        hnag_protect_end(WHY_PROGRAM);
        return go_unseen(&c);
    }
    dispatched(&c);
}
#endif
