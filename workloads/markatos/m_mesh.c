/* Loops over a mesh whose points processors take for themselves: stand-ins for SIMPLE and WEATHER of Markatos and Chronaki
 * (1993, section 3.1.1 and tables 3, 5, 7, 9, 11, 13). Fields lie one after the other, each a row of words, as FORTRAN has
 * them; a point is one processor's in all loops, dealt by the seed (`-r`).
 *
 * SIMPLE (default): Lagrangian hydrodynamics in two dimensions. A time step moves the mesh by its velocities, and finds
 * densities, pressures from a table, velocities and energies; it ends with the least of all next time steps, for which
 * everybody leaves a value and reads those of all. Fields are written where neighbours read them.
 * WEATHER (-DHN_WEATHER=1): finite differences on a globe of nine levels. New fields are written from the old ones of the
 * point and its neighbours, east round the globe; nobody reads a neighbour's new value. Constants lie in a shared table.
 *
 * How much is written, how much comes from tables and how far points of one processor lie apart follows from the printed
 * tables; which formula stands where does not matter for pages and is ours. Values are small whole numbers that sums keep
 * exactly, so the result does not depend on thread count or seed; the self-check computes it again alone. */
#include "markatos.h"

#ifndef HN_WEATHER
#define HN_WEATHER 0
#endif

#if HN_WEATHER
#define NAMED "Finite differences on a globe (WEATHER, a stand-in)."
#define SIZES .xs = {12, 1}, .s = {54, 1}, .m = {78, 1}, .p = {108, 1}
#define FIELDS 19u
#define WRITTEN 7u      /* fields that are new at the end of a step */
#define LEVELS 9u
#define TOGETHER 2u     /* neighbouring points that one processor takes at once */
#define TABLE_READS 36u /* of the table of constants, a point */
#define OWN_READS 15u   /* of other fields, a point, beside those that follow */
#define NEIGHBOURS 2u   /* old fields that are read in four directions */
#define PRIVATE 382u    /* private references a point: 31.76 million in all, of which 5.02 million are shared */
#else
#define NAMED "Lagrangian hydrodynamics on a mesh (SIMPLE, a stand-in)."
#define SIZES .xs = {24, 1}, .s = {128, 1}, .m = {180, 1}, .p = {256, 1}
#define FIELDS 10u
#define WRITTEN 7u
#define LEVELS 1u
#define TOGETHER 1u
#define TABLE_READS 35u
#define OWN_READS 25u
#define NEIGHBOURS 2u
#define PRIVATE 329u    /* 27.03 million in all, of which 5.5 million are shared */
#endif

static const struct hn_program program = {
    .summary = NAMED,
    .n_means = "points in a row, at least 4",
    .more = 'r',
    .more_means = "seed of the dealing",
    SIZES,
};

#define TABLE 1024u /* words, in two halves */
#define LEAST 64u   /* words between them, one for each processor; more processors use them in turn */

struct mesh {
    hn_barrier barrier;
    size_t columns, rows, points;
    uint64_t seed;
    float *field[FIELDS];
    float *table, *least; /* `least`: a word for each processor, in the middle of the table */
};

/* A mesh as a thread sees it, so that the way to a field is no reference. */
struct view {
    size_t columns, rows, points;
    uint64_t seed;
    float *fields, *table, *least;
};

static inline float *field(struct view v, unsigned k) {
    return v.fields + k * v.points;
}

static inline float whole(float x) {
    return (float)((uint32_t)(int32_t)x & 255u);
}

static inline bool takes(struct view v, unsigned t, unsigned threads, size_t point) {
    size_t ground = point % (v.columns * v.rows);
    return t == thesis_dealt(v.seed, ground / TOGETHER, threads);
}

/* Mean of four neighbours' values: round the globe from east to west, and to the edge from north to south. */
static inline float around(struct view v, unsigned k, size_t i) {
    const float *f = field(v, k);
    size_t c = i % v.columns, up = i >= v.columns ? i - v.columns : i;
    size_t down = i + v.columns < v.points ? i + v.columns : i;
    return f[c ? i - 1 : i + v.columns - 1] + f[c + 1 < v.columns ? i + 1 : i + 1 - v.columns] + f[up] + f[down];
}

/* Sum of so many words of the table, from a place that hangs on the point. */
static inline float looked_up(struct view v, size_t i, unsigned reads) {
    float sum = 0;
    uint64_t draw = hn_mix(i);
    const float *half = draw >> 63 ? v.table : v.least + LEAST;
    for (unsigned k = 0; k < reads; k++)
        sum += half[draw % (TABLE / 2 - reads) + k];
    return sum;
}

/* The part of a step between two barriers, at one point: field `k` becomes new from itself, from other fields of the point,
 * and from the table. */
static inline void renew(struct view v, size_t i, unsigned k) {
    unsigned reads = TABLE_READS / WRITTEN, own = OWN_READS / WRITTEN + (k < OWN_READS % WRITTEN);
    float sum = field(v, k)[i] + looked_up(v, i * WRITTEN + k, reads);
    for (unsigned j = 0; j < own; j++)
        sum += field(v, HN_WEATHER ? WRITTEN + (2 * k + j) % (FIELDS - WRITTEN) : (k + 1 + 3 * j) % FIELDS)[i];
    /* WEATHER looks at old fields around, SIMPLE at what the part before wrote. */
    if (k >= 1 && k <= NEIGHBOURS)
        sum += around(v, HN_WEATHER ? WRITTEN + k : k - 1, i);
    field(v, k)[i] = whole(sum);
}

/* All parts at the points of one processor. Parts that look at others' new values wait for them. */
static void step(struct view v, hn_barrier *barrier, unsigned t, unsigned threads, struct mine *mine) {
    for (unsigned k = 0; k < WRITTEN; k++) {
        for (size_t i = 0; i < v.points; i++)
            if (takes(v, t, threads, i)) {
                private_work(mine, PRIVATE / WRITTEN);
                renew(v, i, k);
            }
        if (barrier)
            hn_barrier_wait(barrier);
    }
}

/* The least of all points' next time steps: SIMPLE's reduction. */
static void reduce(struct view v, hn_barrier *barrier, unsigned t, unsigned threads, struct mine *mine) {
    float least = INFINITY, all = INFINITY;
    const float *speed = field(v, 0);
    for (size_t i = 0; i < v.points; i++)
        if (takes(v, t, threads, i) && speed[i] < least)
            least = speed[i];
    v.least[t % LEAST] = least;
    hn_barrier_wait(barrier);
    const volatile float *each = v.least;
    for (unsigned p = 0; p < threads && p < LEAST; p++)
        all = fminf(all, each[p]);
    mine->word[0] = all;
}

static struct view view_of(const struct mesh *m) {
    return (struct view){m->columns, m->rows, m->points, m->seed, m->field[0], m->table, m->least};
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct mesh *m = shared;
    struct view v = view_of(m);
    struct mine mine = {{0}};
    thesis_begin(&m->barrier, t);
    step(v, &m->barrier, t, threads, &mine);
    if (!HN_WEATHER)
        reduce(v, &m->barrier, t, threads, &mine);
    thesis_end(&m->barrier, t);
}

static void initialise(struct view v) {
    for (unsigned k = 0; k < FIELDS; k++)
        for (size_t i = 0; i < v.points; i++)
            field(v, k)[i] = small_value(k * v.points + i);
    for (unsigned k = 0; k < TABLE / 2; k++) {
        v.table[k] = small_value(~(uint64_t)k);
        v.least[LEAST + k] = small_value(~(uint64_t)k - TABLE);
    }
}

static bool verify(struct mesh *m, uint64_t *checksum) {
    struct view v = view_of(m), again = v;
    again.fields = thesis_alloc("again", FIELDS * m->points * sizeof(float));
    initialise(again);
    struct mine mine = {{0}};
    step(again, NULL, 0, 1, &mine);
    bool ok = true;
    *checksum = 0;
    for (size_t i = 0; i < FIELDS * m->points; i++) {
        ok = ok && v.fields[i] == again.fields[i];
        *checksum = thesis_sum(*checksum, (uint64_t)v.fields[i]);
    }
    return ok;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 4 || o.n > 4096)
        hn_misuse(&program, "4 to 4096 points in a row");
    struct mesh *m = thesis_control("mesh", sizeof *m);
    m->columns = o.n;
    m->rows = HN_WEATHER ? (2 * o.n + 2) / 3 : o.n;
    m->points = m->columns * m->rows * LEVELS;
    m->seed = o.more;
    float *fields = thesis_alloc("fields", FIELDS * m->points * sizeof(float));
    for (unsigned k = 0; k < FIELDS; k++)
        m->field[k] = fields + k * m->points;
    m->table = thesis_alloc("table", (TABLE + LEAST) * sizeof(float));
    m->least = m->table + TABLE / 2;
    initialise(view_of(m));
    hn_barrier_init(&m->barrier, o.threads);
    hn_run(o.threads, work, m);
    if (HN_DAMAGE)
        m->field[0][0] += 1;
    uint64_t checksum;
    bool ok = verify(m, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
