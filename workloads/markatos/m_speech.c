/* Search of a dictionary for spoken words: stands in for SPEECH of Markatos and Chronaki (1993, section 3.1.1 and tables 4, 8,
 * 12), a Multilisp program whose references are nearly all shared. A step follows a path through a tree of phonemes, which
 * nobody writes, to a word; of that word it looks at some arcs, and raises a score, twice. Scores of a word are one word of
 * memory for each processor, side by side, and lie with the arcs of their word: so all writes are to memory that one
 * processor alone uses, in pages that all of them read. Common words come more often than rare ones. Now and then a cell is
 * taken from a heap of the processor's own.
 *
 * Steps are dealt by the seed (`-r`), in turn but for one in 16. The self-check: scores of a word, over processors, add up to
 * what one processor alone finds. */
#include "markatos.h"

static const struct hn_program program = {
    .summary = "Search of a dictionary, scores of all processors side by side (SPEECH, a stand-in).",
    .n_means = "words, at least 4",
    .more = 'r',
    .more_means = "seed of the dealing",
    .xs = {8, 1},
    .s = {40, 1},
    .m = {80, 1},
    .p = {160, 1},
};

#define STEPS 6000u  /* a word of the dictionary */
#define ARCS 1984u   /* words of memory a word of the dictionary has beside its scores */
#define LOOKED_AT 5u /* arcs a step looks at */
#define DEPTH 2u     /* nodes on a path */
#define NODES 96u    /* nodes of the tree for each word */
#define CONS 12u     /* one step of so many takes a cell */

struct node {
    uint32_t first, count; /* children */
};

struct speech {
    hn_barrier barrier;
    size_t words, nodes, apart; /* `apart`: words of memory from one word's scores to the next one's */
    uint64_t seed;
    struct node *tree;
    uint32_t *memory, *heap;
    size_t cells; /* of each processor's heap */
};

/* A number below `below`, small ones more often: the square of a random part. */
static inline size_t skewed(uint64_t draw, size_t below) {
    uint64_t part = draw >> 44;
    return (size_t)((part * part >> 20) * below >> 20);
}

/* The same, to the fourth power. */
static inline size_t near_first(uint64_t draw, size_t below) {
    uint64_t part = draw >> 44, square = part * part >> 20;
    return (size_t)((square * square >> 20) * below >> 20);
}

static inline unsigned who(uint64_t seed, uint64_t step, unsigned threads) {
    uint64_t draw = hn_mix(hn_mix(seed) ^ step);
    return (unsigned)(draw % 16 ? step % threads : (draw >> 32) % threads);
}

/* Follows a path from the root; the draw says which child. */
static inline uint32_t path(const struct node *tree, uint64_t draw) {
    uint32_t at = 0;
    for (unsigned d = 0; d < DEPTH; d++) {
        uint32_t first = tree[at].first, count = tree[at].count;
        at = first + (uint32_t)skewed(hn_mix(draw + d), count);
    }
    return at;
}

static inline uint32_t arcs(const uint32_t *of, uint64_t draw) {
    uint32_t sum = 0;
    for (unsigned k = 0; k < LOOKED_AT; k++)
        sum += of[near_first(hn_mix(draw ^ k), ARCS)];
    return sum;
}

/* What a step finds: the word, and by how much its score rises. */
struct found {
    size_t word;
    uint32_t more;
};

static inline struct found found(const struct node *tree, const uint32_t *arcs_of_first, size_t words, size_t apart, uint64_t step) {
    uint64_t draw = hn_mix(step);
    uint32_t leaf = path(tree, draw);
    size_t word = skewed(hn_mix(~draw), words);
    return (struct found){word, leaf + arcs(arcs_of_first + word * apart, draw)};
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct speech *s = shared;
    hn_barrier *barrier = &s->barrier;
    const struct node *tree = s->tree;
    uint32_t *memory = s->memory, *heap = s->heap + t * s->cells;
    size_t words = s->words, apart = s->apart, cells = s->cells, top = 0;
    uint64_t seed = s->seed;
    thesis_begin(barrier, t);
    for (uint64_t step = 0; step < words * STEPS; step++) {
        if (who(seed, step, threads) != t)
            continue;
        struct found at = found(tree, memory + threads, words, apart, step);
        volatile uint32_t *mine = memory + at.word * apart + t;
        uint32_t before = *mine;
        *mine = UINT32_MAX; /* as long as it is being computed */
        *mine = before + at.more;
        if (step / threads % CONS == 0 && cells)
            heap[top++ % cells] = at.more;
    }
    thesis_end(barrier, t);
}

static void initialise(const struct speech *s, unsigned threads) {
    size_t leaves = s->nodes - 1, wide = 1;
    while (wide * wide < leaves)
        wide++;
    /* The root, `wide` nodes below it, and leaves below these. */
    s->tree[0] = (struct node){1, (uint32_t)wide};
    for (size_t i = 1; i < s->nodes; i++) {
        size_t first = wide + 1 + (i - 1) * (wide - 1);
        bool inner = i <= wide && first < s->nodes;
        size_t count = inner ? (s->nodes - first < wide ? s->nodes - first : wide) : 1;
        s->tree[i] = (struct node){(uint32_t)(inner ? first : i), (uint32_t)count};
    }
    for (size_t w = 0; w < s->words; w++) {
        uint32_t *of = s->memory + w * s->apart;
        for (size_t k = 0; k < s->apart; k++)
            of[k] = k < threads ? 0 : (uint32_t)(hn_mix(w * ARCS + k - threads) >> 48);
    }
}

static bool verify(const struct speech *s, unsigned threads, uint64_t *checksum) {
    uint32_t *wanted = thesis_alloc("wanted", s->words * sizeof *wanted);
    memset(wanted, 0, s->words * sizeof *wanted);
    for (uint64_t step = 0; step < s->words * STEPS; step++) {
        struct found at = found(s->tree, s->memory + threads, s->words, s->apart, step);
        wanted[at.word] += at.more;
    }
    bool ok = true;
    *checksum = 0;
    for (size_t w = 0; w < s->words; w++) {
        uint32_t found = 0;
        for (unsigned t = 0; t < threads; t++)
            found += s->memory[w * s->apart + t];
        ok = ok && found == wanted[w];
        *checksum = thesis_sum(*checksum, found);
    }
    return ok;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 4 || o.n > 100000)
        hn_misuse(&program, "4 to 100000 words");
    struct speech *s = thesis_control("speech", sizeof *s);
    s->words = o.n;
    s->nodes = o.n * NODES;
    s->seed = o.more;
    s->apart = ARCS + o.threads;
    s->cells = o.n * STEPS / CONS / o.threads;
    s->tree = thesis_alloc("tree", s->nodes * sizeof *s->tree);
    s->memory = thesis_alloc("words", s->words * s->apart * sizeof *s->memory);
    s->heap = thesis_alloc("heaps", o.threads * s->cells * sizeof *s->heap);
    initialise(s, o.threads);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->memory[0] += 1;
    uint64_t checksum;
    bool ok = verify(s, o.threads, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
