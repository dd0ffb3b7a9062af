/* Fourier transform of a square array, parallel loop by parallel loop, as an EPEX FORTRAN program does it (Bolosky 1993,
 * sections 2.1.2 and 2.2.1): a stand-in, since the source is gone. An iteration of a loop copies its line from the shared
 * array to private memory, transforms it there with private factors and writes it back; adjacent iterations are one
 * thread's. First all rows, then all columns.
 *
 * Transforms are made in pairs, there and back, and the self-check is that the array is what it was. The result does not
 * depend on the thread count. */
#include "thesis.h"

static const struct hn_program program = {
    .summary = "Fourier transform of a square array with private lines (EPEX).",
    .n_means = "rows and columns, a power of two from 4 up",
    .more = 'i',
    .more_means = "pairs of transforms, there and back",
    .xs = {32, 1},
    .s = {128, 1},
    .m = {256, 1},
    .p = {256, 6},
};

/* What belongs to one thread: EPEX has such memory by declaration. */
struct lines {
    float *re, *im, *cosine, *sine;
};

struct fft {
    hn_barrier barrier;
    float *re, *im; /* the array by columns, as FORTRAN has it */
    size_t n, pairs;
    struct lines lines[];
};

static float start_value(size_t i) {
    return (float)(int32_t)(hn_mix(i) >> 32) * 0x1p-31f;
}

static void make_factors(const struct lines *l, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double angle = 6.283185307179586 * (double)i / (double)n;
        l->cosine[i] = (float)cos(angle);
        l->sine[i] = (float)sin(angle);
    }
}

static void reverse_bits(const struct lines *l, size_t n) {
    for (size_t i = 0, j = 0; i < n; i++) {
        if (i < j) {
            float re = l->re[i], im = l->im[i];
            l->re[i] = l->re[j];
            l->im[i] = l->im[j];
            l->re[j] = re;
            l->im[j] = im;
        }
        size_t bit = n / 2;
        for (; bit && (j & bit); bit /= 2)
            j ^= bit;
        j |= bit;
    }
}

/* In place; `sign` is -1 there and 1 back. */
static void transform(const struct lines *l, size_t n, float sign) {
    reverse_bits(l, n);
    for (size_t half = 1; half < n; half *= 2)
        for (size_t start = 0; start < n; start += 2 * half)
            for (size_t k = 0; k < half; k++) {
                size_t a = start + k, b = a + half, factor = k * (n / (2 * half));
                float c = l->cosine[factor], s = sign * l->sine[factor];
                float re = c * l->re[b] - s * l->im[b], im = c * l->im[b] + s * l->re[b];
                l->re[b] = l->re[a] - re;
                l->im[b] = l->im[a] - im;
                l->re[a] += re;
                l->im[a] += im;
            }
}

/* Lines from..to-1: elements `step` apart, lines `apart`. */
static void loop(const struct fft *s, struct lines l, size_t from, size_t to, size_t step, size_t apart, float sign) {
    size_t n = s->n;
    float *all_re = s->re, *all_im = s->im, scale = sign > 0 ? 1 / (float)n : 1;
    for (size_t line = from; line < to; line++) {
        float *re = all_re + line * apart, *im = all_im + line * apart;
        for (size_t i = 0; i < n; i++) {
            l.re[i] = re[i * step];
            l.im[i] = im[i * step];
        }
        transform(&l, n, sign);
        for (size_t i = 0; i < n; i++) {
            re[i * step] = l.re[i] * scale;
            im[i * step] = l.im[i] * scale;
        }
    }
}

static void work(unsigned t, unsigned threads, void *shared) {
    const struct fft *s = shared;
    hn_barrier *barrier = (hn_barrier *)&s->barrier;
    size_t n = s->n, from = hn_part(n, t, threads), to = hn_part(n, t + 1, threads);
    struct lines mine = s->lines[t];
    thesis_begin(barrier, t);
    make_factors(&mine, n);
    for (size_t i = from * n; i < to * n; i++) {
        s->re[i] = start_value(i);
        s->im[i] = start_value(~i);
    }
    hn_barrier_wait(barrier);
    for (size_t i = 0; i < 2 * s->pairs; i++) {
        float sign = i % 2 ? 1 : -1;
        loop(s, mine, from, to, n, 1, sign);
        hn_barrier_wait(barrier);
        loop(s, mine, from, to, 1, n, sign);
        hn_barrier_wait(barrier);
    }
    thesis_end(barrier, t);
}

static bool verify(const struct fft *s, uint64_t *checksum) {
    float worst = 0;
    *checksum = 0;
    for (size_t i = 0; i < s->n * s->n; i++) {
        float off = fabsf(s->re[i] - start_value(i)) + fabsf(s->im[i] - start_value(~i));
        worst = off <= worst ? worst : off; /* takes NaN */
        uint32_t bits;
        memcpy(&bits, &s->re[i], sizeof bits);
        *checksum = thesis_sum(*checksum, bits);
    }
    return worst < 1e-4f;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 4 || o.n > 16384 || (o.n & (o.n - 1)) || o.more > 1000)
        hn_misuse(&program, "a power of two from 4 to 16384, at most 1000 pairs");
    struct fft *s = thesis_control("fft", sizeof *s + o.threads * sizeof s->lines[0]);
    s->n = o.n;
    s->pairs = o.more;
    s->re = thesis_alloc("re", o.n * o.n * sizeof(float));
    s->im = thesis_alloc("im", o.n * o.n * sizeof(float));
    for (unsigned t = 0; t < o.threads; t++) {
        float *own = thesis_alloc("private", 4 * o.n * sizeof(float));
        s->lines[t] = (struct lines){own, own + o.n, own + 2 * o.n, own + 3 * o.n};
    }
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->re[0] += 0.01f;
    uint64_t checksum;
    bool ok = verify(s, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
