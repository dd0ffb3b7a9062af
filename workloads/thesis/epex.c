/* Stand-ins for three EPEX FORTRAN programs of Bolosky's thesis (1993, sections 2.1.2 and 2.2.1), whose sources are gone:
 * `e_simp` for a two-dimensional fluid code with heat conduction, compiled with HN_EPEX=2 `e_hyd` for one of
 * hydrodynamics, with HN_EPEX=3 `e_nasa` for the flow of air over a body in three dimensions. What is known of them is how
 * much they refer to private memory and how many shared references are reads, and they are made to be so.
 *
 * A step has parallel loops, each closed by a barrier, with adjacent iterations on one thread. One loop takes a new field
 * from the neighbours of a point in the old one. Then a loop in each direction copies every line of the field to
 * private memory, solves a tridiagonal system there some times over, and writes it back: what one loop has by lines of
 * one direction, the next one has across.
 *
 * The self-check makes the same steps with one thread, after the traced phase, and compares bit by bit. The result does
 * not depend on the thread count. */
#include "thesis.h"

#ifndef HN_EPEX
#define HN_EPEX 1
#endif

#if HN_EPEX == 1
#define NAMED "Fluid with heat conduction in two dimensions (EPEX, a stand-in)."
#define DIMENSIONS 2u
#define STENCILS 3u /* fields that are read with their neighbours */
#define SOLVES 3u   /* private solutions of a line */
#define SIZES .xs = {24, 1}, .s = {64, 8}, .m = {64, 30}, .p = {64, 430}
#elif HN_EPEX == 2
#define NAMED "Hydrodynamics in two dimensions (EPEX, a stand-in)."
#define DIMENSIONS 2u
#define STENCILS 2u
#define SOLVES 4u
#define SIZES .xs = {24, 1}, .s = {64, 5}, .m = {64, 30}, .p = {64, 1320}
#else
#define NAMED "Flow of air over a body in three dimensions (EPEX, a stand-in)."
#define DIMENSIONS 3u
#define STENCILS 1u
#define SOLVES 4u
#define SIZES .xs = {8, 1}, .s = {16, 2}, .m = {24, 8}, .p = {24, 203}
#endif

static const struct hn_program program = {
    .summary = NAMED,
    .n_means = "points in each direction, at least 3",
    .more = 'i',
    .more_means = "steps",
    SIZES,
};

/* Fields and private lines of a computation. */
struct flow {
    double *old[STENCILS], *now;
    size_t n, points;
};

struct line {
    double *value, *upper; /* private to a thread */
};

struct epex {
    hn_barrier barrier;
    struct flow flow;
    size_t steps;
    struct line lines[];
};

static void initialise(struct flow f, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        f.now[i] = (double)(hn_mix(i) >> 40);
        for (unsigned k = 0; k < STENCILS; k++)
            f.old[k][i] = (double)(hn_mix(i * STENCILS + k) >> 40);
    }
}

/* How far apart neighbours are in a direction. */
static size_t stride(size_t n, unsigned direction) {
    return direction == 0 ? 1 : direction == 1 ? n : n * n;
}

/* A new field from the old ones around each point; then the new one is the first of the old ones. */
static void stencil(struct flow f, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        double sum = 0;
        for (unsigned k = 0; k < STENCILS; k++) {
            const double *old = f.old[k];
            sum += 0.5 * old[i];
            for (unsigned d = 0; d < DIMENSIONS; d++) {
                size_t apart = stride(f.n, d);
                sum += 0.1 * (old[i >= apart ? i - apart : i] + old[i + apart < f.points ? i + apart : i]);
            }
        }
        f.now[i] = sum / (double)STENCILS;
    }
}

/* Thomas's elimination on the private line: each point and a quarter of both neighbours. */
static void solve(struct line l, size_t n) {
    l.upper[0] = 0.25;
    for (size_t i = 1; i < n; i++) {
        double pivot = 1 / (1 - 0.25 * l.upper[i - 1]);
        l.upper[i] = 0.25 * pivot;
        l.value[i] = (l.value[i] - 0.25 * l.value[i - 1]) * pivot;
    }
    for (size_t i = n - 1; i-- > 0;)
        l.value[i] -= l.upper[i] * l.value[i + 1];
}

/* Where a line of a direction begins. */
static size_t begins(size_t n, unsigned direction, size_t line) {
    size_t apart = stride(n, direction);
    return line % apart + line / apart * apart * n;
}

/* Lines from..to-1 of a direction, out of the new field and into the first of the old ones. */
static void sweep(struct flow f, struct line l, unsigned direction, size_t from, size_t to) {
    size_t apart = stride(f.n, direction);
    const double *source = direction == 0 ? f.now : f.old[0];
    for (size_t line = from; line < to; line++) {
        size_t begin = begins(f.n, direction, line);
        for (size_t i = 0; i < f.n; i++)
            l.value[i] = source[begin + i * apart];
        for (unsigned k = 0; k < SOLVES; k++)
            solve(l, f.n);
        for (size_t i = 0; i < f.n; i++)
            f.old[0][begin + i * apart] = l.value[i];
    }
}

static void work(unsigned t, unsigned threads, void *shared) {
    const struct epex *s = shared;
    hn_barrier *barrier = (hn_barrier *)&s->barrier;
    struct flow f = s->flow;
    struct line mine = s->lines[t];
    size_t points = f.points, lines = points / f.n;
    size_t first = hn_part(lines, t, threads), last = hn_part(lines, t + 1, threads);
    thesis_begin(barrier, t);
    initialise(f, first * f.n, last * f.n);
    hn_barrier_wait(barrier);
    for (size_t step = 0; step < s->steps; step++) {
        stencil(f, first * f.n, last * f.n);
        hn_barrier_wait(barrier);
        for (unsigned d = 0; d < DIMENSIONS; d++) {
            sweep(f, mine, d, first, last);
            hn_barrier_wait(barrier);
        }
    }
    thesis_end(barrier, t);
}

static struct flow make_flow(size_t n) {
    struct flow f = {.n = n, .points = DIMENSIONS == 2 ? n * n : n * n * n};
    f.now = thesis_alloc("now", f.points * sizeof(double));
    for (unsigned k = 0; k < STENCILS; k++)
        f.old[k] = thesis_alloc("old", f.points * sizeof(double));
    return f;
}

static bool verify(const struct epex *s, uint64_t *checksum) {
    struct flow f = s->flow, again = make_flow(f.n);
    size_t lines = f.points / f.n;
    bool ok = true;
    initialise(again, 0, again.points);
    for (size_t step = 0; step < s->steps; step++) {
        stencil(again, 0, again.points);
        for (unsigned d = 0; d < DIMENSIONS; d++)
            sweep(again, s->lines[0], d, 0, lines);
    }
    *checksum = 0;
    for (size_t i = 0; i < f.points; i++) {
        ok = ok && hn_bits(f.old[0][i]) == hn_bits(again.old[0][i]);
        *checksum = thesis_sum(*checksum, hn_bits(f.old[0][i]));
    }
    return ok;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 3 || o.n > 1024)
        hn_misuse(&program, "3 to 1024 points");
    struct epex *s = thesis_control("epex", sizeof *s + o.threads * sizeof s->lines[0]);
    s->flow = make_flow(o.n);
    s->steps = o.more;
    for (unsigned t = 0; t < o.threads; t++) {
        double *own = thesis_alloc("private", 2 * o.n * sizeof(double));
        s->lines[t] = (struct line){own, own + o.n};
    }
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->flow.old[0][0] += 0.5;
    uint64_t checksum;
    bool ok = verify(s, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
