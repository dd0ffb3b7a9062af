/* Rarefied gas as particles that move freely and collide with others of their cell, in the manner of MP3D (McDonald and
 * Baganoff 1988; SPLASH). Particles are dealt out by number and stay with their thread, but fly through all cells,
 * which are dealt out by place. So every thread writes into all cells when its particles arrive there, and the owner
 * of a cell writes to everybody's particles when they collide: pages and lines travel all the time.
 *
 * A particle enters its cell's list under a lock; the order of arrival does not matter, because the cell's owner sorts
 * the list before it pairs neighbours. So the result does not depend on the thread count. Space is a torus.
 *
 * The self-check: each cell counts its own; no particle is lost; every particle is inside; momentum and energy are as
 * they began, since a collision only turns the relative velocity. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Rarefied gas: particles that collide inside cells.",
    .n_means = "particles, at least 64",
    .more = 'i',
    .more_means = "time steps",
    .xs = {16384, 6},
    .s = {1 << 18, 12},
    .m = {1 << 21, 12},
};

#define PER_CELL 8u      /* particles, in the mean */
#define CROWD_MAX 128u   /* of one cell: odds of more are nil with a mean of at most 8 * 1.5^3 */
#define LOCKS 512u       /* of cells, a power of two */
#define NOBODY UINT32_MAX

struct particle {
    double at[3], speed[3]; /* in cells, cells a step */
    uint32_t cell, next;    /* next in the list of the cell */
};

struct cell {
    uint32_t first, count;
    uint64_t collisions; /* so far */
};

struct mp3d {
    hn_barrier barrier;
    struct particle *particles;
    struct cell *cells; /* side^3 */
    hn_lock *locks;
    size_t n, side, steps;
    struct part {
        struct hn_verdict verdict;
        double energy[2], momentum[2][3]; /* in the beginning and in the end */
        size_t counted;                   /* particles of its cells */
    } parts[];
};

/* Noise from 0 up to 1. */
static double fraction(uint64_t noise) {
    return (double)(noise >> 11) * 0x1p-53;
}

static uint32_t cell_of(const double at[3], size_t side) {
    return (uint32_t)(((size_t)at[2] * side + (size_t)at[1]) * side + (size_t)at[0]);
}

/* A stream along x with noise on it, anywhere in the box. */
static void make_particles(struct mp3d *s, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        struct particle *p = &s->particles[i];
        for (unsigned d = 0; d < 3; d++) {
            p->at[d] = fraction(hn_mix(6 * i + d)) * (double)s->side;
            p->speed[d] = fraction(hn_mix(6 * i + d + 3)) - 0.5 + (d == 0 ? 0.25 : 0);
        }
        p->cell = cell_of(p->at, s->side);
        p->next = NOBODY;
    }
}

static void make_cells(struct mp3d *s, size_t from, size_t to) {
    for (size_t c = from; c < to; c++)
        s->cells[c] = (struct cell){.first = NOBODY, .count = 0, .collisions = 0};
}

static void sum_up(const struct mp3d *s, size_t from, size_t to, double *energy, double momentum[3]) {
    double sum[3] = {0, 0, 0}, squares = 0;
    for (size_t i = from; i < to; i++)
        for (unsigned d = 0; d < 3; d++) {
            double speed = s->particles[i].speed[d];
            sum[d] += speed;
            squares += speed * speed;
        }
    memcpy(momentum, sum, sizeof sum);
    *energy = squares;
}

/* Where a coordinate is on a torus. */
static double wrapped(double x, double side) {
    if (x < 0)
        x += side; /* may round to side */
    return x >= side ? x - side : x;
}

static void move(struct mp3d *s, size_t from, size_t to) {
    double side = (double)s->side;
    for (size_t i = from; i < to; i++) {
        struct particle *p = &s->particles[i];
        for (unsigned d = 0; d < 3; d++)
            p->at[d] = wrapped(p->at[d] + p->speed[d], side);
        uint32_t cell = cell_of(p->at, s->side);
        p->cell = cell;
        hn_lock_acquire(&s->locks[cell % LOCKS]);
        p->next = s->cells[cell].first;
        s->cells[cell].first = (uint32_t)i;
        s->cells[cell].count++;
        hn_lock_release(&s->locks[cell % LOCKS]);
    }
}

/* Turns the relative velocity of a pair to where the noise points (Marsaglia 1972, on a cylinder). */
static void collide(struct particle *a, struct particle *b, uint64_t noise) {
    double mean[3], size = 0, z = 2 * fraction(noise) - 1, angle = 6.283185307179586 * fraction(hn_mix(noise));
    for (unsigned d = 0; d < 3; d++) {
        double half = 0.5 * (a->speed[d] - b->speed[d]);
        mean[d] = 0.5 * (a->speed[d] + b->speed[d]);
        size += half * half;
    }
    size = sqrt(size);
    double flat = sqrt(1 - z * z), half[3] = {size * flat * cos(angle), size * flat * sin(angle), size * z};
    for (unsigned d = 0; d < 3; d++) {
        a->speed[d] = mean[d] + half[d];
        b->speed[d] = mean[d] - half[d];
    }
}

/* The particles of a cell in ascending order; empties the cell. */
static size_t gather(struct mp3d *s, struct cell *cell, uint32_t crowd[CROWD_MAX]) {
    size_t count = 0;
    for (uint32_t p = cell->first; p != NOBODY; p = s->particles[p].next) {
        if (count == CROWD_MAX)
            hn_die("a cell overflows", ENOSPC);
        size_t j = count++;
        for (; j > 0 && crowd[j - 1] > p; j--)
            crowd[j] = crowd[j - 1];
        crowd[j] = p;
    }
    cell->first = NOBODY;
    return count;
}

/* All pairs of neighbours in the sorted lists of cells from..to-1, except one in four. */
static void react(struct mp3d *s, struct part *part, size_t from, size_t to, size_t step) {
    uint32_t crowd[CROWD_MAX];
    part->counted = 0;
    for (size_t c = from; c < to; c++) {
        struct cell *cell = &s->cells[c];
        size_t count = gather(s, cell, crowd);
        if (count == cell->count)
            part->counted += count;
        cell->count = 0;
        for (size_t k = 0; k + 1 < count; k += 2) {
            uint64_t noise = hn_mix(hn_mix(c + step * s->side * s->side * s->side) + k);
            if (noise % 4 == 0)
                continue;
            collide(&s->particles[crowd[k]], &s->particles[crowd[k + 1]], hn_mix(noise));
            cell->collisions++;
        }
    }
}

static void verify(struct mp3d *s, struct part *part, size_t from, size_t to) {
    uint64_t checksum = 0;
    bool ok = true;
    double side = (double)s->side;
    sum_up(s, from, to, &part->energy[1], part->momentum[1]);
    for (size_t i = from; i < to; i++) {
        const struct particle *p = &s->particles[i];
        for (unsigned d = 0; d < 3; d++) {
            ok = ok && p->at[d] >= 0 && p->at[d] < side;
            checksum += hn_mix(hn_bits(p->at[d]) ^ hn_mix(hn_bits(p->speed[d]) ^ (3 * i + d)));
        }
        ok = ok && p->cell == cell_of(p->at, s->side);
    }
    part->verdict.ok = ok;
    part->verdict.checksum = checksum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct mp3d *s = shared;
    struct part *part = &s->parts[t];
    size_t cells = s->side * s->side * s->side;
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    size_t first = hn_part(cells, t, threads), end = hn_part(cells, t + 1, threads);
    hn_phase_begin("initialise");
    make_particles(s, from, to);
    make_cells(s, first, end);
    sum_up(s, from, to, &part->energy[0], part->momentum[0]);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("fly");
    for (size_t step = 0; step < s->steps; step++) {
        move(s, from, to);
        hn_barrier_wait(&s->barrier);
        react(s, part, first, end, step);
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_end("fly");
    if (HN_DAMAGE && t == 0)
        s->particles[0].speed[1] += 0.5;
    hn_phase_begin("verify");
    verify(s, part, from, to);
    hn_phase_end("verify");
}

/* Nothing lost, momentum and energy as they were. */
static bool conserved(const struct mp3d *s, unsigned threads) {
    double energy[2] = {0, 0}, worst = 0;
    size_t counted = 0;
    for (unsigned t = 0; t < threads; t++) {
        energy[0] += s->parts[t].energy[0];
        energy[1] += s->parts[t].energy[1];
        counted += s->parts[t].counted;
    }
    for (unsigned d = 0; d < 3; d++) {
        double change = 0;
        for (unsigned t = 0; t < threads; t++)
            change += s->parts[t].momentum[1][d] - s->parts[t].momentum[0][d];
        worst = fmax(worst, fabs(change));
    }
    return counted == s->n && worst < 1e-9 * (double)s->n && fabs(energy[1] / energy[0] - 1) < 1e-11 * (double)s->steps;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 64 || o.n > 1 << 30)
        hn_misuse(&program, "64 to 2^30 particles");
    struct mp3d *s = hn_shared_alloc("mp3d", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->steps = o.more;
    s->side = 2;
    while ((s->side + 1) * (s->side + 1) * (s->side + 1) * PER_CELL <= o.n)
        s->side++;
    s->particles = hn_shared_alloc("particles", o.n * sizeof(struct particle));
    s->cells = hn_shared_alloc("cells", s->side * s->side * s->side * sizeof(struct cell));
    s->locks = hn_shared_alloc("locks", LOCKS * sizeof(hn_lock));
    for (unsigned i = 0; i < LOCKS; i++)
        hn_lock_init(&s->locks[i]);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_verdicts(&s->parts[0].verdict, sizeof s->parts[0], o.threads, &checksum);
    int status = hn_result(&program, &o, ok && conserved(s, o.threads), checksum);
    hn_shared_free(s->locks);
    hn_shared_free(s->cells);
    hn_shared_free(s->particles);
    hn_shared_free(s);
    return status;
}
