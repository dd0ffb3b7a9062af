/* Fast Fourier transform over one shared array, radix 2, in place: stands in for FFT of Markatos and Chronaki (1993, section
 * 3.1.1 and tables 2, 6, 10). Real and imaginary parts are arrays of their own, points stand in bit-reversed order. A
 * processor takes 64 neighbouring points at a time, weights them and combines them as far as they go among themselves; then
 * follow steps that combine points farther apart, with a barrier after each, pairs dealt out one by one in turn, but for one in 64, which
 * whoever is free takes (`-r`). So at first few processors use a page, and later all use every page but the smallest, though
 * hardly a word has two users in a step: that is what the printed numbers of copies say.
 *
 * The self-check undoes all steps, one processor alone, and compares. The result does not depend on thread count or seed. */
#include "markatos.h"

static const struct hn_program program = {
    .summary = "Radix-2 Fourier transform over a shared array, pairs dealt out in turn.",
    .n_means = "points, a power of two from 4 up",
    .more = 'r',
    .more_means = "seed of the dealing",
    .xs = {512, 1},
    .s = {4096, 1},
    .m = {8192, 1},
    .p = {16384, 1},
};

/* Private references a pair: 7.44 million references in all, of which 1.05 million are shared. */
#define PRIVATE 56u

/* Points that a processor takes at once, at first. */
#define BLOCK 64u

struct points {
    float *re, *im;
    size_t n;
};

struct fft {
    hn_barrier barrier;
    struct points points;
    uint64_t seed;
};

static float start_value(size_t i) {
    return (float)(hn_mix(i) >> 40) / (float)(1 << 24) - 0.5f;
}

static inline bool takes(uint64_t seed, unsigned t, unsigned threads, size_t pair, size_t half) {
    uint64_t draw = hn_mix(hn_mix(seed) ^ (pair + (half << 32)));
    return t == (draw % 64 ? pair % threads : (draw >> 32) % threads);
}

static inline size_t upper_of(size_t pair, size_t half) {
    return pair / half * 2 * half + pair % half;
}

/* Root of unity of a pair, as an angle. */
static inline float angle(size_t pair, size_t half) {
    return (float)(-M_PI * (double)(pair % half) / (double)half);
}

static inline void combine(struct points p, size_t pair, size_t half) {
    size_t i = upper_of(pair, half), j = i + half;
    float cosine = cosf(angle(pair, half)), sine = sinf(angle(pair, half));
    float b_re = p.re[j], b_im = p.im[j], a_re = p.re[i], a_im = p.im[i];
    float re = b_re * cosine - b_im * sine, im = b_re * sine + b_im * cosine;
    p.re[i] = a_re + re;
    p.im[i] = a_im + im;
    p.re[j] = a_re - re;
    p.im[j] = a_im - im;
}

/* Multiplies a point in place. */
static inline void weight(struct points p, size_t i, float by) {
    p.re[i] *= by;
    p.im[i] *= by;
}

static inline float weight_of(size_t i, size_t n) {
    return 1.0f + (float)i / (float)n;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct fft *s = shared;
    hn_barrier *barrier = &s->barrier;
    struct points p = s->points;
    uint64_t seed = s->seed;
    struct mine mine = {{0}};
    size_t block = p.n < BLOCK ? p.n : BLOCK;
    thesis_begin(barrier, t);
    for (size_t from = t * block; from < p.n; from += threads * block) {
        for (size_t i = from; i < from + block; i++)
            weight(p, i, weight_of(i, p.n));
        for (size_t half = 1; half < block; half *= 2)
            for (size_t pair = from / 2; pair < (from + block) / 2; pair++) {
                private_work(&mine, PRIVATE);
                combine(p, pair, half);
            }
    }
    hn_barrier_wait(barrier);
    for (size_t half = block; half < p.n; half *= 2) {
        for (size_t pair = 0; pair < p.n / 2; pair++)
            if (takes(seed, t, threads, pair, half)) {
                private_work(&mine, PRIVATE);
                combine(p, pair, half);
            }
        hn_barrier_wait(barrier);
    }
    for (size_t i = t; i < p.n; i += threads)
        weight(p, i, 1.0f / (float)p.n);
    thesis_end(barrier, t);
}

/* Undoes a step, but for a factor of two. */
static void separate(struct points p, size_t pair, size_t half) {
    size_t i = upper_of(pair, half), j = i + half;
    float cosine = cosf(angle(pair, half)), sine = -sinf(angle(pair, half));
    float re = p.re[i] - p.re[j], im = p.im[i] - p.im[j];
    p.re[i] += p.re[j];
    p.im[i] += p.im[j];
    p.re[j] = re * cosine - im * sine;
    p.im[j] = re * sine + im * cosine;
}

/* The sum of mixed points is that of the transform. */
static bool verify(struct points p, uint64_t *checksum) {
    *checksum = 0;
    for (size_t i = 0; i < p.n; i++) {
        uint32_t bits[2];
        memcpy(&bits[0], &p.re[i], sizeof bits[0]);
        memcpy(&bits[1], &p.im[i], sizeof bits[1]);
        *checksum = thesis_sum(thesis_sum(*checksum, bits[0]), bits[1]);
    }
    for (size_t half = p.n / 2; half; half /= 2)
        for (size_t pair = 0; pair < p.n / 2; pair++)
            separate(p, pair, half);
    float worst = 0;
    for (size_t i = 0; i < p.n; i++) {
        float by = weight_of(i, p.n);
        float off = fabsf(p.re[i] / by - start_value(i)) + fabsf(p.im[i] / by - start_value(~i));
        worst = off <= worst ? worst : off; /* takes NaN */
    }
    return worst < 1e-4f;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 4 || o.n > (size_t)1 << 22 || (o.n & (o.n - 1)))
        hn_misuse(&program, "a power of two from 4 to 4194304");
    struct fft *s = thesis_control("fft", sizeof *s);
    struct points *p = &s->points;
    s->seed = o.more;
    p->n = o.n;
    p->re = thesis_alloc("real parts", o.n * sizeof(float));
    p->im = thesis_alloc("imaginary parts", o.n * sizeof(float));
    for (size_t i = 0; i < o.n; i++) {
        p->re[i] = start_value(i);
        p->im[i] = start_value(~i);
    }
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        p->re[0] += 1;
    uint64_t checksum;
    bool ok = verify(*p, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
