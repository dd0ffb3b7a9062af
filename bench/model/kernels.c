/* Kernels whose time is known by running them: kernels NAME runs one and prints the seconds of processor time that it took. Each is a function of
   its own, so that a report gives its cost; what it needs is made before, by others. With -DSMALL the same work, as many times as makes the same number of steps, is
   done on a quarter of a MiB, which the private caches of processors hold: what a kernel takes beside what the models price. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB (1u << 20)
#define KERNEL __attribute__((noinline))

static uint64_t sink;
static uint64_t next(uint64_t *s) { return *s = *s * 6364136223846793005u + 1442695040888963407u; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }

/* What kernels work on. */
static double *grid;
static uint64_t *table;
static uint32_t *keys, *sorted, *order;
#ifdef SMALL
enum { ROWS = 128, COLUMNS = 256, TABLE_BITS = 15, KEYS = 32768, ENTRIES = 2048, VERTICES = 8192 };
#else
enum { ROWS = 4096, COLUMNS = 4096, TABLE_BITS = 24, KEYS = 16 * MIB, ENTRIES = 2 * MIB, VERTICES = 4 * MIB };
#endif
enum { TABLE = 1 << TABLE_BITS, HEADS = ENTRIES, LOOKUPS = MIB, VISITS = 4 * MIB, EDGES = 4 };
/* Steps of the whole over those of one run on what is small. */
enum { TABLES = 16 * MIB / TABLE, GRIDS = 16 * MIB / (ROWS * COLUMNS), GRAPHS = 4 * MIB / VERTICES, PASSES = 16 * MIB / KEYS };

static void make_grid(void) { grid = malloc((size_t)ROWS * COLUMNS * sizeof *grid); for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) grid[i] = i % 7; }
static void make_table(void) { table = malloc(TABLE * sizeof *table); for (size_t i = 0; i < TABLE; i++) table[i] = i; }
static void make_keys(void) {
    uint64_t s = 1;
    keys = malloc(KEYS * sizeof *keys); sorted = calloc(KEYS, sizeof *sorted);
    for (size_t i = 0; i < KEYS; i++) { keys[i] = next(&s) >> 32; sorted[i] = 0; }
}
/* A random cycle through all lines of the table. */
static void make_cycle(void) {
    size_t n = TABLE / 8;
    uint64_t s = 3;
    make_table();
    order = malloc(n * sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n - 1; i > 0; i--) { size_t j = (next(&s) >> 33) % i; uint32_t t = order[i]; order[i] = order[j]; order[j] = t; }
    for (size_t i = 0; i < n; i++) table[order[i] * 8ull] = order[(i + 1) % n] * 8ull;
}

KERNEL static void stream(void) { uint64_t sum = 0; for (int r = 0; r < 2; r++) for (size_t i = 0; i < TABLE; i++) sum += table[i]; sink += sum; }
KERNEL static void chase(void) { uint64_t at = 0; for (size_t i = 0; i < LOOKUPS; i++) at = table[at]; sink += at; }
KERNEL static void gather(void) { uint64_t s = 5, sum = 0; for (size_t i = 0; i < 2 * LOOKUPS; i++) sum += table[next(&s) >> (64 - TABLE_BITS)]; sink += sum; }
KERNEL static void scatter(void) { uint64_t s = 6; for (size_t i = 0; i < 2 * LOOKUPS; i++) table[next(&s) >> (64 - TABLE_BITS)] = i; }
KERNEL static void fill(void) { for (size_t i = 0; i < TABLE; i++) table[i] = i ^ 5; }
KERNEL static void copy(void) { for (size_t i = 0; i < TABLE / 2; i++) table[i] = table[i + TABLE / 2]; }
KERNEL static void sor(void) {
    for (int r = 0; r < 2; r++)
        for (size_t i = 1; i < ROWS - 1; i++)
            for (size_t j = 1; j < COLUMNS - 1; j++)
                grid[i * COLUMNS + j] = 0.25 * (grid[(i - 1) * COLUMNS + j] + grid[(i + 1) * COLUMNS + j] + grid[i * COLUMNS + j - 1] + grid[i * COLUMNS + j + 1]);
}
/* Down the columns: a line for each element, further apart than a prefetcher looks. */
KERNEL static void columns(void) { double sum = 0; for (size_t j = 0; j < COLUMNS; j += 8) for (size_t i = 0; i < ROWS; i++) sum += grid[i * COLUMNS + j]; sink += sum; }
KERNEL static void radix(void) {
    static uint32_t counts[2048];
    memset(counts, 0, sizeof counts);
    for (size_t r = 0; r < PASSES; r++) for (size_t i = 0; i < KEYS; i++) counts[keys[i] >> 21]++;
    uint32_t sum = 0;
    for (size_t i = 0; i < 2048; i++) { uint32_t c = counts[i]; counts[i] = sum; sum += c; }
    for (size_t r = 0; r < PASSES; r++) for (size_t i = 0; i < KEYS; i++) sorted[counts[keys[i] >> 21]++ % KEYS] = keys[i];
}

/* A hash table with chains, of which each entry is a line. */
struct entry { uint64_t key; struct entry *next; uint64_t rest[6]; };
static struct entry **heads, *entries;
static void make_hash(void) {
    uint64_t s = 9;
    heads = malloc(HEADS * sizeof *heads); entries = malloc(ENTRIES * sizeof *entries);
    for (size_t i = 0; i < HEADS; i++) heads[i] = NULL;
    for (size_t i = 0; i < ENTRIES; i++) {
        struct entry *e = &entries[i];
        struct entry **h = &heads[(e->key = next(&s) >> 32) % HEADS];
        e->next = *h; *h = e;
    }
}
KERNEL static void join(void) {
    uint64_t s = 10, found = 0;
    for (size_t i = 0; i < LOOKUPS; i++) {
        uint64_t key = next(&s) >> 32;
        for (struct entry *e = heads[key % HEADS]; e; e = e->next) found += e->key == key;
    }
    sink += found;
}

/* A binary search tree without balance of random keys, one node a line. */
struct node { uint64_t key; struct node *child[2]; uint64_t rest[5]; };
static struct node *nodes, *root;
static void make_tree(void) {
    uint64_t s = 11;
    nodes = calloc(ENTRIES, sizeof *nodes);
    for (size_t i = 0; i < ENTRIES; i++) {
        struct node **at = &root;
        nodes[i].key = next(&s) >> 8;
        while (*at) at = &(*at)->child[nodes[i].key > (*at)->key];
        *at = &nodes[i];
    }
}
KERNEL static void search(void) {
    uint64_t s = 12, found = 0;
    for (size_t visits = 0; visits < VISITS;) {
        uint64_t key = next(&s) >> 8;
        for (struct node *n = root; n; n = n->child[key > n->key]) { found += n->key; visits++; }
    }
    sink += found;
}

/* A random graph, breadth first. */
static uint32_t *edges, *seen, *queue, start;
static void make_graph(void) {
    uint64_t s = 13;
    edges = malloc(VERTICES * EDGES * sizeof *edges); seen = malloc(VERTICES * sizeof *seen); queue = malloc(VERTICES * sizeof *queue);
    for (size_t i = 0; i < VERTICES * EDGES; i++) edges[i] = (next(&s) >> 33) % VERTICES;
    for (size_t i = 0; i < VERTICES; i++) { seen[i] = 0; queue[i] = 0; }
}
/* Another beginning for each run. */
static void reset_graph(void) { memset(seen, 0, VERTICES * sizeof *seen); queue[0] = start++ % VERTICES; }
KERNEL static void bfs(void) {
    size_t head = 0, tail = 1;
    seen[queue[0]] = 1;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (size_t i = 0; i < EDGES; i++) {
            uint32_t w = edges[v * EDGES + i];
            if (!seen[w]) { seen[w] = seen[v] + 1; queue[tail++] = w; }
        }
    }
    sink += tail;
}

static const struct { const char *name; void (*make)(void), (*run)(void); unsigned runs; void (*reset)(void); } ALL[] = {
    {"stream", make_table, stream, TABLES, NULL}, {"fill", make_table, fill, TABLES, NULL}, {"copy", make_table, copy, TABLES, NULL},
    {"sor", make_grid, sor, GRIDS, NULL}, {"columns", make_grid, columns, GRIDS, NULL}, {"gather", make_table, gather, 1, NULL},
    {"scatter", make_table, scatter, 1, NULL}, {"radix", make_keys, radix, 1, NULL}, {"join", make_hash, join, 1, NULL},
    {"bfs", make_graph, bfs, GRAPHS, reset_graph}, {"search", make_tree, search, 1, NULL}, {"chase", make_cycle, chase, 1, NULL},
};

int main(int argc, char **argv) {
    if (argc == 1) { for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) puts(ALL[i].name); return 0; }
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        if (strcmp(argv[1], ALL[i].name)) continue;
        ALL[i].make();
        if (ALL[i].reset) ALL[i].reset();
        double since = now();
        for (unsigned r = 0; r < ALL[i].runs; r++) {
            if (r && ALL[i].reset) ALL[i].reset();
            ALL[i].run();
        }
        double seconds = now() - since;
        printf("%s\t%.6f\n", argv[1], seconds);
        return sink == 42;
    }
    fprintf(stderr, "kernels: no kernel is called %s\n", argv[1]);
    return 2;
}
