/* Discrete Fourier transform of n = m * m complex numbers in six steps (Bailey 1990): the data are an m x m matrix,
 * rows dealt out in contiguous parts; transposes, in which every thread reads from all others, alternate with
 * transforms of whole rows, which touch nothing remote.
 *
 * The signal is noise by position. Checks: Parseval's equation; the bins 0, n/4, n/2 and 3n/4, which are sums without
 * a multiplication; and the inverse transform, which must give the signal back. The operations on an element
 * are the same whatever the thread count, so the checksum, of the spectrum, does not depend on it. Compiled with HN_PAD, a
 * row is so many points longer than it needs to be, lest the lines of a column fall on each other in a cache. Compiled with
 * HN_STAGGERED=1 a thread begins a transpose with its own rows, and so each with those of another. Then the last of a node's threads
 * is the first at every other node's rows, and fetches them for all; compiled with HN_BALANCED=1 threads with neighbouring numbers
 * begin far apart, so each fetches a share. */
#include "hn_workload.h"

#ifndef HN_PAD
#define HN_PAD 0
#endif
#ifndef HN_STAGGERED
#define HN_STAGGERED 0
#endif
#ifndef HN_BALANCED
#define HN_BALANCED 0
#endif

static const struct hn_program program = {
    .summary = "Complex Fourier transform in six steps, there and back.",
    .n_means = "points, a power of four, at least 16",
    .more = 'i',
    .more_means = "times there and back",
    .xs = {1 << 16, 1},
    .s = {1 << 20, 1},
    .m = {1 << 22, 8},
};

#define TILE 8u /* rows and columns that a transpose copies at a time: a line of each */
#define TAU 6.283185307179586476925

struct point {
    double re, im;
};

struct fft {
    hn_barrier barrier;
    struct point *data, *other; /* m x m, row by row */
    struct point *roots;        /* m / 2 of them */
    struct point *twiddles;     /* m x m */
    size_t n, side, times;
    bool ok;
    struct part {
        struct hn_verdict verdict;
        struct point sums[4]; /* of the points at positions 0, 1, 2, 3 modulo 4 */
        double before, after; /* energy of the signal and of the spectrum */
    } parts[];
};

/* Where point i of a matrix lies. */
static inline size_t place(size_t i, size_t side) {
    return HN_PAD ? i / side * (side + HN_PAD) + i % side : i;
}

/* The rows of one thread. */
struct rows {
    size_t from, to;
#if HN_BALANCED
    size_t begin; /* where its transposes begin */
#endif
};

/* The row with which the thread begins a transpose, unless all begin with the first. */
static size_t begin_of(struct rows mine) {
#if HN_BALANCED
    return mine.begin;
#else
    return mine.from;
#endif
}

static struct point signal_at(size_t i) {
    return (struct point){(double)(int64_t)hn_mix(2 * i) * 0x1p-63, (double)(int64_t)hn_mix(2 * i + 1) * 0x1p-63};
}

static struct point root(size_t k, size_t of) {
    double angle = -TAU * (double)k / (double)of;
    return (struct point){cos(angle), sin(angle)};
}

/* `sign` -1 takes the conjugate of w. */
static inline struct point times(struct point a, struct point w, double sign) {
    double im = sign * w.im;
    return (struct point){a.re * w.re - a.im * im, a.re * im + a.im * w.re};
}

static void initialise(struct fft *s, unsigned t, unsigned threads, struct rows mine) {
    struct part *part = &s->parts[t];
    size_t side = s->side, half = side / 2;
    memset(part, 0, sizeof *part);
    for (size_t k = hn_part(half, t, threads); k < hn_part(half, t + 1, threads); k++)
        s->roots[k] = root(k, side);
    for (size_t r = mine.from; r < mine.to; r++)
        for (size_t c = 0; c < side; c++) {
            size_t i = r * side + c;
            size_t at = r * (side + HN_PAD) + c;
            struct point p = signal_at(i);
            s->data[at] = p;
            s->other[at] = (struct point){0, 0};
            s->twiddles[at] = root(r * c, s->n);
            part->sums[c % 4].re += p.re;
            part->sums[c % 4].im += p.im;
            part->before += p.re * p.re + p.im * p.im;
        }
}

/* Rows mine of `to` become the columns mine of `from`. */
static void transpose(const struct point *from, struct point *to, size_t side, struct rows mine) {
    for (size_t top = mine.from; top < mine.to; top += TILE)
        for (size_t k = 0; k < side; k += TILE) {
            size_t left = HN_STAGGERED || HN_BALANCED ? (begin_of(mine) / TILE * TILE + k) % side : k;
#if HN_PAD /* along what may be far, so that all of a line is used while it is there */
            for (size_t c = left; c < left + TILE && c < side; c++)
                for (size_t r = top; r < top + TILE && r < mine.to; r++)
                    to[r * (side + HN_PAD) + c] = from[c * (side + HN_PAD) + r];
#else
            for (size_t r = top; r < top + TILE && r < mine.to; r++)
                for (size_t c = left; c < left + TILE && c < side; c++)
                    to[r * (side + HN_PAD) + c] = from[c * (side + HN_PAD) + r];
#endif
        }
}

/* Puts each element where the reversed bits of its index say. */
static void reverse_bits(struct point *x, size_t side) {
    for (size_t i = 1, j = 0; i < side; i++) {
        size_t bit = side / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            struct point swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
    }
}

static void transform_row(struct point *x, const struct point *roots, size_t side, double sign) {
    reverse_bits(x, side);
    for (size_t half = 1; half < side; half *= 2)
        for (size_t first = 0; first < side; first += 2 * half)
            for (size_t k = 0; k < half; k++) {
                struct point *a = &x[first + k], *b = a + half;
                struct point u = *a, v = times(*b, roots[k * (side / 2 / half)], sign);
                *a = (struct point){u.re + v.re, u.im + v.im};
                *b = (struct point){u.re - v.re, u.im - v.im};
            }
}

/* Spectrum of `data` into `other`; `data` is spoilt. All threads together; ends with a barrier. */
static void transform(struct fft *s, struct point *data, struct point *other, struct rows mine, double sign) {
    size_t side = s->side;
    transpose(data, other, side, mine);
    for (size_t r = mine.from; r < mine.to; r++) {
        struct point *row = other + r * (side + HN_PAD);
        transform_row(row, s->roots, side, sign);
        for (size_t c = 0; c < side; c++)
            row[c] = times(row[c], s->twiddles[r * (side + HN_PAD) + c], sign);
    }
    hn_barrier_wait(&s->barrier);
    transpose(other, data, side, mine);
    for (size_t r = mine.from; r < mine.to; r++)
        transform_row(data + r * (side + HN_PAD), s->roots, side, sign);
    hn_barrier_wait(&s->barrier);
    transpose(data, other, side, mine);
    hn_barrier_wait(&s->barrier);
}

static void look_at_spectrum(struct fft *s, unsigned t, struct rows mine) {
    struct part *part = &s->parts[t];
    double energy = 0;
    uint64_t checksum = 0;
    for (size_t i = mine.from * s->side; i < mine.to * s->side; i++) {
        struct point p = s->other[place(i, s->side)];
        energy += p.re * p.re + p.im * p.im;
        checksum += hn_mix(hn_bits(p.re) ^ hn_mix(hn_bits(p.im) ^ i));
    }
    part->after = energy;
    part->verdict.checksum = checksum;
}

/* Parseval and the four bins; after all have looked at their rows. */
static bool plausible(const struct fft *s, unsigned threads) {
    struct point sums[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    static const struct point quarter[4] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
    double before = 0, after = 0, worst = 0;
    for (unsigned t = 0; t < threads; t++) {
        for (unsigned k = 0; k < 4; k++) {
            sums[k].re += s->parts[t].sums[k].re;
            sums[k].im += s->parts[t].sums[k].im;
        }
        before += s->parts[t].before;
        after += s->parts[t].after;
    }
    for (unsigned bin = 0; bin < 4; bin++) {
        struct point found = s->other[place(bin * (s->n / 4), s->side)], wanted = {0, 0};
        for (unsigned k = 0; k < 4; k++) {
            struct point p = times(sums[k], quarter[bin * k % 4], 1);
            wanted.re += p.re;
            wanted.im += p.im;
        }
        worst = fmax(worst, fmax(fabs(found.re - wanted.re), fabs(found.im - wanted.im)));
    }
    return fabs(after / (double)s->n / before - 1) < 1e-10 && worst < 1e-9 * (double)s->n;
}

/* After the way back: n times the signal. */
static bool same_signal(const struct fft *s, struct rows mine) {
    double worst = 0, scale = 1 / (double)s->n;
    for (size_t i = mine.from * s->side; i < mine.to * s->side; i++) {
        struct point found = s->data[place(i, s->side)], wanted = signal_at(i);
        worst = fmax(worst, fmax(fabs(found.re * scale - wanted.re), fabs(found.im * scale - wanted.im)));
    }
    return worst < 1e-10;
}

/* The way back leaves n times the signal; the next way there wants the signal. */
static void divide(struct point *data, size_t n, size_t side, struct rows mine) {
    double scale = 1 / (double)n;
    for (size_t i = mine.from * side; i < mine.to * side; i++) {
        data[place(i, side)].re *= scale;
        data[place(i, side)].im *= scale;
    }
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct fft *s = shared;
    struct rows mine = {.from = hn_part(s->side, t, threads), .to = hn_part(s->side, t + 1, threads)};
#if HN_BALANCED /* the bits of t, the lowest first, are those of a fraction of the rows */
    for (unsigned bit = 0; t >> bit; bit++)
        mine.begin += (t >> bit & 1) * (s->side >> (bit + 1));
#endif
    hn_traced_begin(&s->barrier, t);
    hn_phase_begin("initialise");
    initialise(s, t, threads, mine);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    for (size_t i = 0; i < s->times; i++) {
        hn_phase_begin("transform");
        transform(s, s->data, s->other, mine, 1);
        hn_phase_end("transform");
        if (i == 0)
            hn_traced_end(&s->barrier, t);
        if (HN_DAMAGE && t == 0)
            s->other[1].re += 0.01 * (double)s->n;
        if (i + 1 == s->times) {
            look_at_spectrum(s, t, mine);
            hn_barrier_wait(&s->barrier);
            if (t == 0)
                s->ok = plausible(s, threads);
        }
        hn_barrier_wait(&s->barrier);
        hn_phase_begin("inverse");
        transform(s, s->other, s->data, mine, -1);
        if (i + 1 < s->times)
            divide(s->data, s->n, s->side, mine);
        hn_barrier_wait(&s->barrier);
        hn_phase_end("inverse");
    }
    hn_phase_begin("verify");
    s->parts[t].verdict.ok = same_signal(s, mine);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    size_t side = 4;
    while (side * side < o.n && side < 1 << 15)
        side *= 2;
    if (side * side != o.n)
        hn_misuse(&program, "n must be a power of four from 16 to 2^30");
    struct fft *s = hn_shared_alloc("fft", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->side = side;
    s->times = o.more;
    s->data = hn_shared_alloc("data", (o.n + side * HN_PAD) * sizeof(struct point));
    s->other = hn_shared_alloc("other", (o.n + side * HN_PAD) * sizeof(struct point));
    s->roots = hn_shared_alloc("roots", side / 2 * sizeof(struct point));
    s->twiddles = hn_shared_alloc("twiddles", (o.n + side * HN_PAD) * sizeof(struct point));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_verdicts(&s->parts[0].verdict, sizeof s->parts[0], o.threads, &checksum);
    int status = hn_result(&program, &o, ok && s->ok, checksum);
    hn_shared_free(s->twiddles);
    hn_shared_free(s->roots);
    hn_shared_free(s->other);
    hn_shared_free(s->data);
    hn_shared_free(s);
    return status;
}
