/* Eddy currents in a basin, as ocean of the AS-COMA study (Kuo and others 1998, section 4.2; the scheme of the SPLASH-2 kernel:
 * Woo and others 1995, section 3): each step forms Laplacians and Jacobians of several fields by nearest neighbours, adds
 * them up point by point, and solves for the new stream by red-black relaxation on a hierarchy of grids. The grid is cut in two
 * dimensions; each part of each field is a piece of memory of its own that begins on a page.
 *
 * The self-check is the residual of the last solution, recomputed by one thread, and that a field given at the beginning came
 * through unchanged. An update by colour does not depend on who does it when, so neither does the checksum on the thread count. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Currents in a basin: nearest neighbours on grids of several sizes.",
    .n_means = "rows and columns with their edges, 2 more than a power of two from 16",
    .more = 'i',
    .more_means = "steps",
    .xs = {34, 1},
    .s = {130, 1},
    .m = {258, 2},
    .p = {258, 6},
};

#define LEVELS_MAX 8u
#define FIELDS 24u /* of the finest grid */
#define NEIGHBOURS 8u /* fields whose neighbours are looked at */
#define SWEEPS 2u /* on each grid */
#define CYCLES 3u

/* A part of a field: its points row by row, and edges of its own around them only where the basin ends. */
struct part {
    double *at;
    size_t top, left, rows, columns;
};

/* A field cut into parts. */
struct field {
    struct part *parts;
    size_t n;
};

/* Compiled with HN_STRIPS=1 the grid is cut into strips of rows, so that neighbours in other parts lie side by side. */
#ifndef HN_STRIPS
#define HN_STRIPS 0
#endif

struct ocean {
    hn_barrier barrier;
    size_t n, steps;
    unsigned threads, down, across, levels;
    struct field fields[FIELDS];
    struct field stream[LEVELS_MAX], source[LEVELS_MAX];
    bool ok;
    struct hn_verdict verdicts[];
};

static struct part *part_of(const struct field *f, const struct ocean *s, size_t i, size_t j) {
    unsigned down = 0, across = 0;
    while (down + 1 < s->down && hn_part(f->n, down + 1, s->down) <= i)
        down++;
    while (across + 1 < s->across && hn_part(f->n, across + 1, s->across) <= j)
        across++;
    return &f->parts[down * s->across + across];
}

static inline double *point(const struct part *p, size_t i, size_t j) {
    return p->at + (i - p->top) * p->columns + (j - p->left);
}

/* The parts around one; itself where the basin ends. */
struct around {
    const struct part *here, *above, *below, *left, *right;
};

static struct around around(const struct ocean *s, const struct field *f, unsigned t) {
    unsigned row = t / s->across, column = t % s->across;
    const struct part *p = f->parts;
    return (struct around){p + t, row ? p + t - s->across : p + t, row + 1 < s->down ? p + t + s->across : p + t,
                           column ? p + t - 1 : p + t, column + 1 < s->across ? p + t + 1 : p + t};
}

/* Sum of the four neighbours of a point that is not at the end of the basin. */
static inline double neighbours(const struct around *a, size_t i, size_t j) {
    const struct part *h = a->here;
    const double *above = i > h->top ? point(h, i - 1, j) : point(a->above, i - 1, j);
    const double *below = i + 1 < h->top + h->rows ? point(h, i + 1, j) : point(a->below, i + 1, j);
    const double *left = j > h->left ? point(h, i, j - 1) : point(a->left, i, j - 1);
    const double *right = j + 1 < h->left + h->columns ? point(h, i, j + 1) : point(a->right, i, j + 1);
    return *above + *below + *left + *right;
}

/* The points of a part that are not at the end of the basin. */
struct inner {
    size_t top, bottom, left, right;
};

static struct inner inner(const struct field *f, const struct part *p) {
    size_t bottom = p->top + p->rows, right = p->left + p->columns;
    return (struct inner){p->top ? p->top : 1, bottom < f->n ? bottom : f->n - 1, p->left ? p->left : 1,
                          right < f->n ? right : f->n - 1};
}

static double given(size_t field, size_t i, size_t j) {
    return (double)(int64_t)hn_mix((field << 40) + (i << 20) + j) * 0x1p-63;
}

static void initialise(struct ocean *s, unsigned t) {
    for (unsigned k = 0; k < FIELDS; k++) {
        const struct part *p = &s->fields[k].parts[t];
        for (size_t i = p->top; i < p->top + p->rows; i++)
            for (size_t j = p->left; j < p->left + p->columns; j++)
                *point(p, i, j) = given(k, i, j);
    }
    for (unsigned level = 0; level < s->levels; level++)
        for (unsigned which = 0; which < 2; which++) {
            const struct part *p = which ? &s->source[level].parts[t] : &s->stream[level].parts[t];
            for (size_t i = 0; i < p->rows * p->columns; i++)
                p->at[i] = 0;
        }
}

/* to = Laplacian of from, of the thread's points. */
static void laplacian(const struct ocean *s, const struct field *from, const struct field *to, unsigned t) {
    struct around a = around(s, from, t);
    const struct part *p = &to->parts[t];
    struct inner in = inner(from, p);
    for (size_t i = in.top; i < in.bottom; i++)
        for (size_t j = in.left; j < in.right; j++)
            *point(p, i, j) = 0.25 * neighbours(&a, i, j) - *point(a.here, i, j);
}

/* to = a part of itself, and of two others. */
static void blend(const struct field *one, const struct field *two, const struct field *to, unsigned t) {
    const double *a = one->parts[t].at, *b = two->parts[t].at;
    double *c = to->parts[t].at;
    for (size_t i = 0; i < to->parts[t].rows * to->parts[t].columns; i++)
        c[i] = 0.5 * c[i] + 0.25 * a[i] - 0.125 * b[i];
}

/* One colour of 4 stream - neighbours = source. */
static void relax(const struct ocean *s, unsigned level, unsigned colour, unsigned t) {
    const struct field *f = &s->stream[level];
    struct around a = around(s, f, t);
    const struct part *source = &s->source[level].parts[t];
    struct inner in = inner(f, a.here);
    for (size_t i = in.top; i < in.bottom; i++)
        for (size_t j = in.left + (in.left + i + colour) % 2; j < in.right; j += 2)
            *point(a.here, i, j) = 0.25 * (neighbours(&a, i, j) + *point(source, i, j));
}

/* Point of the finer grid for one of the coarser: both have an edge of one. */
static inline size_t finer(size_t i) {
    return 2 * i - 1;
}

/* What is left of a level becomes the source of the coarser one, whose stream begins with nothing. */
static void restrict_to(const struct ocean *s, unsigned level, unsigned t) {
    const struct field *fine = &s->stream[level];
    const struct part *p = &s->stream[level + 1].parts[t], *q = &s->source[level + 1].parts[t];
    struct inner in = inner(&s->stream[level + 1], p);
    for (size_t i = in.top; i < in.bottom; i++)
        for (size_t j = in.left; j < in.right; j++) {
            size_t y = finer(i), x = finer(j);
            const struct part *f = part_of(fine, s, y, x);
            struct around a = around(s, fine, (unsigned)(f - fine->parts));
            const struct part *source = &s->source[level].parts[f - fine->parts];
            *point(q, i, j) = *point(source, y, x) - 4 * *point(f, y, x) + neighbours(&a, y, x);
            *point(p, i, j) = 0;
        }
}

/* A level is corrected by what the coarser one found. */
static void correct(const struct ocean *s, unsigned level, unsigned t) {
    const struct field *coarse = &s->stream[level + 1];
    const struct part *p = &s->stream[level].parts[t];
    struct inner in = inner(&s->stream[level], p);
    for (size_t i = in.top; i < in.bottom; i++)
        for (size_t j = in.left; j < in.right; j++) {
            size_t y = (i + 1) / 2, x = (j + 1) / 2;
            if (y + 1 < coarse->n && x + 1 < coarse->n)
                *point(p, i, j) += *point(part_of(coarse, s, y, x), y, x);
        }
}

static void sweeps(struct ocean *s, unsigned level, unsigned times, unsigned t) {
    for (unsigned half = 0; half < 2 * times; half++) {
        relax(s, level, half % 2, t);
        hn_barrier_wait(&s->barrier);
    }
}

static void solve(struct ocean *s, unsigned t) {
    for (unsigned cycle = 0; cycle < CYCLES; cycle++) {
        for (unsigned level = 0; level + 1 < s->levels; level++) {
            sweeps(s, level, SWEEPS, t);
            restrict_to(s, level, t);
            hn_barrier_wait(&s->barrier);
        }
        for (unsigned level = s->levels - 1; level > 0; level--) {
            sweeps(s, level, SWEEPS, t);
            correct(s, level - 1, t);
            hn_barrier_wait(&s->barrier);
        }
        sweeps(s, 0, SWEEPS, t);
    }
}

static void step(struct ocean *s, unsigned t) {
    for (unsigned k = 0; k < NEIGHBOURS; k++)
        laplacian(s, &s->fields[k], &s->fields[NEIGHBOURS + k], t);
    hn_barrier_wait(&s->barrier);
    for (unsigned k = 2 * NEIGHBOURS; k + 1 < FIELDS; k++)
        blend(&s->fields[k - NEIGHBOURS], &s->fields[(k + 5) % (2 * NEIGHBOURS)], &s->fields[k], t);
    blend(&s->fields[FIELDS - 2], &s->fields[FIELDS - 3], &s->source[0], t);
    hn_barrier_wait(&s->barrier);
    solve(s, t);
    for (unsigned k = 1; k < NEIGHBOURS; k++)
        blend(&s->stream[0], &s->fields[2 * NEIGHBOURS + k - 1], &s->fields[k], t);
    hn_barrier_wait(&s->barrier);
}

static double value_at(const struct ocean *s, const struct field *f, size_t i, size_t j) {
    return *point(part_of(f, s, i, j), i, j);
}

/* Greatest residual over greatest source, and whether the first field is as it was given. */
static bool verify(const struct ocean *s) {
    const struct field *f = &s->stream[0];
    double left = 0, most = 0;
    bool same = true;
    for (size_t i = 1; i + 1 < s->n; i++)
        for (size_t j = 1; j + 1 < s->n; j++) {
            double around = value_at(s, f, i - 1, j) + value_at(s, f, i + 1, j) + value_at(s, f, i, j - 1) +
                            value_at(s, f, i, j + 1), source = value_at(s, &s->source[0], i, j);
            left = fmax(left, fabs(source - 4 * value_at(s, f, i, j) + around));
            most = fmax(most, fabs(source));
            same = same && value_at(s, &s->fields[0], i, j) == given(0, i, j);
        }
    return same && left < 0.2 * most; /* false for NaN as well */
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct ocean *s = shared;
    (void)threads;
    hn_traced_begin(&s->barrier, t);
    hn_phase_begin("initialise");
    initialise(s, t);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("steps");
    for (size_t k = 0; k < s->steps; k++)
        step(s, t);
    hn_phase_end("steps");
    hn_traced_end(&s->barrier, t);
    if (t == 0) {
        if (HN_DAMAGE)
            *point(part_of(&s->stream[0], s, 2, 2), 2, 2) += 100;
        s->ok = verify(s);
        uint64_t sum = 0;
        for (size_t i = 0; i < s->n; i++)
            for (size_t j = 0; j < s->n; j++)
                sum = hn_mix(sum ^ hn_bits(value_at(s, &s->stream[0], i, j)));
        s->verdicts[0].checksum = sum;
    }
}

/* A field of n x n points; the descriptions of its parts lie before them. */
static void make_field(struct ocean *s, struct field *f, size_t n) {
    f->n = n;
    f->parts = hn_shared_alloc("parts", s->threads * sizeof(struct part));
    for (unsigned t = 0; t < s->threads; t++) {
        struct part *p = &f->parts[t];
        unsigned row = t / s->across, column = t % s->across;
        p->top = hn_part(n, row, s->down);
        p->left = hn_part(n, column, s->across);
        p->rows = hn_part(n, row + 1, s->down) - p->top;
        p->columns = hn_part(n, column + 1, s->across) - p->left;
        p->at = hn_shared_alloc("part", p->rows * p->columns * sizeof(double) + 1);
    }
}

static void free_field(const struct ocean *s, struct field *f) {
    for (unsigned t = 0; t < s->threads; t++)
        hn_shared_free(f->parts[t].at);
    hn_shared_free(f->parts);
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 18 || o.n > 4098 || ((o.n - 2) & (o.n - 3)))
        hn_misuse(&program, "the grid must have 18 to 4098 rows, 2 more than a power of two");
    struct ocean *s = hn_shared_alloc("ocean", sizeof *s + o.threads * sizeof s->verdicts[0]);
    s->n = o.n;
    s->steps = o.more;
    s->threads = o.threads;
    s->down = 1;
    for (unsigned r = 1; r * r <= o.threads; r++)
        s->down = o.threads % r ? s->down : r;
    if (HN_STRIPS)
        s->down = o.threads;
    s->across = o.threads / s->down;
    if (s->across > 8)
        hn_misuse(&program, "too many threads in a row");
    for (s->levels = 0; s->levels < LEVELS_MAX && ((o.n - 2) >> s->levels) >= 8; s->levels++) {
        make_field(s, &s->stream[s->levels], ((o.n - 2) >> s->levels) + 2);
        make_field(s, &s->source[s->levels], ((o.n - 2) >> s->levels) + 2);
    }
    for (unsigned k = 0; k < FIELDS; k++)
        make_field(s, &s->fields[k], o.n);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    int status = hn_result(&program, &o, s->ok, s->verdicts[0].checksum);
    for (unsigned k = 0; k < FIELDS; k++)
        free_field(s, &s->fields[k]);
    for (unsigned level = 0; level < s->levels; level++) {
        free_field(s, &s->stream[level]);
        free_field(s, &s->source[level]);
    }
    hn_shared_free(s);
    return status;
}
