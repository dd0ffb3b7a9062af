/* The only system call instructions of the program that the kernel carries out unseen, besides the agent's own. */
#ifdef __x86_64__
#include "protect.h"

/* A call that was seen is sent here with its registers as they were, except that the stack is lower by
 * HNAG_STUB_STACK bytes, with a struct hnag_record. Only rcx and r11 may change, as in any system call. It leaves the
 * state of the thread as it was before. Signals that interrupt the call find an ordinary stack, and what they restart
 * is restarted here.
 *
 * A call that returns twice, perhaps on another stack or on one that the child has used meanwhile, keeps nothing there
 * but in the slot; only the parent's state is set back. */
_Static_assert(offsetof(struct hnag_slot, state) == 0, "the stub stores it");
_Static_assert(offsetof(struct hnag_slot, before) == 4 && offsetof(struct hnag_slot, resume) == 8, "it loads them");
_Static_assert(offsetof(struct hnag_record, before) == 8, "the stub loads it");
_Static_assert(HNAG_STUB_STACK == 192 && sizeof(struct hnag_record) <= 64, "red zone and record");
__asm__(".text\n"
        ".globl hnag_stub\n.hidden hnag_stub\n.type hnag_stub,@function\n"
        "hnag_stub:\n"
        "  syscall\n"
        "  movq hnag_slot@gottpoff(%rip), %rcx\n"
        "  movq %fs:(%rcx), %rcx\n"
        "  movl 8(%rsp), %r11d\n"
        "  movl %r11d, (%rcx)\n"
        "  movq (%rsp), %rcx\n"
        "  leaq 192(%rsp), %rsp\n"
        "  jmp *%rcx\n"
        ".size hnag_stub, . - hnag_stub\n"
        ".globl hnag_stub_twice\n.hidden hnag_stub_twice\n.type hnag_stub_twice,@function\n"
        "hnag_stub_twice:\n"
        "  syscall\n"
        "  movq hnag_slot@gottpoff(%rip), %rcx\n"
        "  movq %fs:(%rcx), %rcx\n"
        "  testl %eax, %eax\n"
        "  jz 1f\n"
        "  movl 4(%rcx), %r11d\n"
        "  movl %r11d, (%rcx)\n"
        "1:\n"
        "  jmp *8(%rcx)\n"
        ".size hnag_stub_twice, . - hnag_stub_twice\n"
        ".globl hnag_restorer\n.hidden hnag_restorer\n.type hnag_restorer,@function\n"
        "hnag_restorer:\n"
        "  movl $15, %eax\n"
        "  syscall\n"
        "  hlt\n"
        ".size hnag_restorer, . - hnag_restorer\n");
#endif
