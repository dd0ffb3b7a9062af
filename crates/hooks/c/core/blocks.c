/* Blocks of references: code between whose references no jump stands stores them into the ring itself (as/blocks.rs). Here they
 * are numbered and made known to the recorder, and here is what that code needs now and then. */
#include <fcntl.h>
#include <sys/mman.h>

#include "os.h"
#include "runtime.h"

/* Called where the batch may have no room for a block. Keeps the address of its first reference; the ring comes back in r10 and
 * the cursor in r11. All else that a call may destroy is free. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        "\t.globl\t__homenode_room\n"
        "\t.type\t__homenode_room, @function\n"
        "__homenode_room:\n"
        "\t.cfi_startproc\n"
        "\tpushq\t%rdi\n"
        "\t.cfi_adjust_cfa_offset 8\n"
        "\tcall\thnrt_room\n"
        "\tpopq\t%rdi\n"
        "\t.cfi_adjust_cfa_offset -8\n"
        "\tmovq\t%rax, %r10\n"
        "\tmovq\t64(%rax), %r11\n"
        "\tret\n"
        "\t.cfi_endproc\n"
        "\t.size\t__homenode_room, .-__homenode_room\n"
        "\t.popsection\n");
#endif

#define TABLES 256

/* The blocks of one executable or library as their file has them, and where each begins there. It may be closed while
 * references of its code wait. */
static struct table {
    uint32_t before; /* number before the first one */
    uint32_t count;
    const uint64_t **blocks;
} tables[TABLES];
static uint32_t table_count;

static struct hn_block *next_of(struct hn_block *b) {
    return (struct hn_block *)&b->refs[hnrt_block_refs(b->header)];
}

static uint64_t word_of(const struct hn_block_ref *ref) {
    uint64_t pc = (uintptr_t)ref + (intptr_t)ref->last;
    return (pc & HN_W1_PC_MASK) | REF_BITS(ref->code, ref->op);
}

/* What the references of a block are, a word each as in its file; NULL if that is not known. */
const uint64_t *hnrt_block(uint64_t header) {
    uint32_t number = header & HN_BLOCK_NUMBER_MASK, n = __atomic_load_n(&table_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (number - tables[i].before - 1 < tables[i].count)
            return tables[i].blocks[number - tables[i].before - 1] + 1;
    return NULL;
}

/* What the compiler wrote is taken as it is, but for a length that leads nowhere. */
static uint32_t count_blocks(struct hn_block *from, const struct hn_block *to) {
    uint32_t n = 0;
    for (struct hn_block *b = from; b < to; b = next_of(b), n++)
        if (!hnrt_block_refs(b->header))
            return 0;
    return n;
}

/* Writes to `to` what a file of blocks has of them. */
static void describe(uint64_t *to, struct hn_block *from, uint32_t count, uint32_t before) {
    for (struct hn_block *b = from; count--; b = next_of(b)) {
        *to++ = b->header | ++before;
        for (unsigned i = 0; i < hnrt_block_refs(b->header); i++)
            *to++ = word_of(&b->refs[i]);
    }
}

static void *memory(size_t bytes) {
    long at = os(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return os_failed(at) ? NULL : (void *)at;
}

/* Keeps what a file says for the process itself, which has to know where pages are drawn. */
static bool remember(const uint64_t *words, uint32_t count, uint32_t before) {
    const uint64_t **blocks = table_count < TABLES ? memory(count * sizeof *blocks) : NULL;
    if (!blocks)
        return false;
    for (uint32_t i = 0; i < count; i++, words += 1 + hnrt_block_refs(words[0]))
        blocks[i] = words;
    tables[table_count] = (struct table){before, count, blocks};
    __atomic_store_n(&table_count, table_count + 1, __ATOMIC_RELEASE);
    return true;
}

/* The words stay: a hole where they were would draw the program's own mappings to other places than without a recorder. */
static bool define(struct hn_block *from, uint64_t bytes, uint32_t count, uint32_t before) {
    uint64_t *words = memory(bytes);
    if (!words)
        return false;
    describe(words, from, count, before);
    return hnrt_file_of_blocks(before, words, bytes) && (!hnrt_pages_drawn || remember(words, count, before));
}

/* Called by each object that has blocks, before other constructors, with those of its executable or library. */
EXPORT void __homenode_blocks(struct hn_block *from, struct hn_block *to) {
    static uint32_t lock;
    hnrt_init();
    if (!hnrt_record)
        return;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        os(SYS_sched_yield);
    uint32_t count = from < to && !(from->header & HN_BLOCK_NUMBER_MASK) ? count_blocks(from, to) : 0;
    if (count) {
        uint32_t before = __atomic_fetch_add(CONTROL32(HN_CONTROL_OFF_BLOCKS), count, __ATOMIC_RELAXED);
        uint64_t bytes = (uintptr_t)to - (uintptr_t)from;
        if (before + count < before || !define(from, bytes, count, before)) {
            hnrt_complain("cannot say what the program's references are (disk full?): not recording");
            hnrt_stop(HN_STOP_WRITE_FAILED);
        }
        for (struct hn_block *b = from; count--; b = next_of(b))
            __atomic_store_n(&b->header, b->header | ++before, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* The code that was about to fill a block will not go on: what it has stored is a block. */
void hnrt_block_abandoned(struct hn_thread *t) {
    struct hn_ring *r = t->real;
    if (!r || (r->cursor & (HN_BATCH_BYTES - 1)) == 0)
        return;
    uint64_t *slot = (uint64_t *)r->cursor;
    unsigned refs = hnrt_block_refs(slot[0]), stored = 0;
    uint64_t left = HN_BATCH_BYTES - (r->cursor & (HN_BATCH_BYTES - 1));
    if (!refs || refs > HN_BLOCK_REFS_MAX || hnrt_block_bytes(refs) > left)
        return;
    while (stored < refs && slot[1 + stored])
        stored++;
    if (!stored)
        return;
    slot[0] = (slot[0] & ~(UINT64_C(0xff) << HN_W0_KIND_SHIFT)) | (uint64_t)stored << HN_W0_KIND_SHIFT;
    __atomic_store_n(&r->cursor, r->cursor + hnrt_block_bytes(stored), __ATOMIC_RELEASE);
}
