/* Molecular dynamics of a liquid of three-site molecules in a periodic box, after the WATER program of SPLASH (Singh and
 * others 1992): every molecule is compared with the half of the others that follow it, pairs beyond the cutoff are left
 * out, and forces on both are added up under the lock of each. Molecules are dealt out by number.
 *
 * Sites of a molecule hang together by springs; oxygens repel and attract (Lennard-Jones), charges act between all sites,
 * softened; both fade to nothing at the cutoff, so energy is conserved. Forces and energies are added up as integers,
 * so the order does not matter and the result does not depend on the thread count.
 *
 * Compiled with HN_GATHERED=1 each thread adds up what its pairs do to a molecule before it takes that one's lock, once. Compiled with
 * HN_SPATIAL=1 molecules lie in cells, and only those in a cell and beside it are compared (water_cells.h); the result is the same.
 *
 * The self-check: energy at the end as in the beginning, momentum zero, molecules in one piece, every pair compared. */
#include "hn_workload.h"

#ifndef HN_GATHERED
#define HN_GATHERED 0
#endif

#ifndef HN_SPATIAL
#define HN_SPATIAL 0
#endif

static const struct hn_program program = {
    .summary = "Molecular dynamics of three-site molecules.",
    .n_means = "molecules, at least 27",
    .more = 'i',
    .more_means = "time steps",
    .xs = {343, 6},
    .s = {1000, 20},
    .m = {2744, 56},
};

#define SITES 3u
#define CUTOFF 2.5      /* diameters of an oxygen, which are the unit of length */
#define SPACING 1.15    /* of the lattice in the beginning */
#define STEP 0.001
#define STIFF 200.0     /* springs */
#define SOFT 0.1        /* added to the square of a distance between charges */
#define ONE 4294967296.0 /* a unit of force or energy as an integer */

static const double masses[SITES] = {1, 0.25, 0.25}, charges[SITES] = {-0.8, 0.4, 0.4};
static const double rests[SITES] = {0.3, 0.3, 0.49}; /* sites 0-1, 0-2, 1-2 */

struct molecule {
    double at[SITES][3], speed[SITES][3];
    int64_t force[SITES][3];
};

struct water {
    hn_barrier barrier;
    struct molecule *molecules;
    hn_lock *locks; /* one for each; none with HN_SPATIAL */
    struct cell *cells; /* with HN_SPATIAL */
    size_t along; /* cells along an edge */
    size_t n, steps;
    double box; /* edge */
    struct part {
        struct hn_verdict verdict;
        int64_t potential[2], kinetic[2]; /* in the beginning and in the end */
        uint64_t pairs;
        uint64_t met; /* molecules found in cells, over all steps */
        double momentum[3];
    } parts[];
};

static double noise_at(size_t i) {
    return (double)(int64_t)hn_mix(i) * 0x1p-63;
}

/* On a cubic lattice; all sites of a molecule move alike, and neighbours by number in opposite directions. */
static void make_molecules(struct water *s, size_t from, size_t to) {
    static const double shape[SITES][3] = {{0, 0, 0}, {0.3, 0, 0}, {-0.1, 0.283, 0}};
    size_t side = (size_t)(s->box / SPACING + 0.5);
    for (size_t i = from; i < to; i++) {
        struct molecule *m = &s->molecules[i];
        double corner[3] = {(double)(i % side), (double)(i / side % side), (double)(i / side / side)};
        bool alone = i == s->n - 1 && s->n % 2;
        for (unsigned k = 0; k < SITES; k++)
            for (unsigned d = 0; d < 3; d++) {
                double speed = alone ? 0 : noise_at(3 * (i / 2) + d);
                m->at[k][d] = SPACING * corner[d] + shape[k][(d + i) % 3];
                m->speed[k][d] = i % 2 ? -speed : speed;
                m->force[k][d] = 0;
            }
        if (!HN_SPATIAL)
            hn_lock_init(&s->locks[i]);
    }
}

static void add(int64_t sum[SITES][3], unsigned site, const double way[3], double strength) {
    for (unsigned d = 0; d < 3; d++)
        sum[site][d] += (int64_t)(strength * way[d] * ONE);
}

static double length2(const double way[3]) {
    return way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
}

/* Springs inside one molecule; returns their energy. */
static double bend(const struct molecule *m, int64_t sum[SITES][3]) {
    double energy = 0;
    for (unsigned k = 0; k < SITES; k++) {
        unsigned a = k / 2, b = k == 0 ? 1 : 2;
        double way[3];
        for (unsigned d = 0; d < 3; d++)
            way[d] = m->at[a][d] - m->at[b][d];
        double length = sqrt(length2(way)), stretch = length - rests[k];
        for (unsigned d = 0; d < 3; d++) {
            int64_t force = (int64_t)(STIFF * stretch / length * way[d] * ONE);
            sum[a][d] -= force;
            sum[b][d] += force;
        }
        energy += 0.5 * STIFF * stretch * stretch;
    }
    return energy;
}

/* Forces of a pair on the first molecule, those on the second are the opposite. `way` leads from oxygen to oxygen through
 * the nearest image, `square` is its length squared, below that of the cutoff. Returns the energy. */
static double interact(const struct molecule *a, const struct molecule *b, const double way[3], double square,
                       int64_t on_a[SITES][3], int64_t on_b[SITES][3]) {
    double out = 1 - square / (CUTOFF * CUTOFF), fade = out * out, sixth = 1 / (square * square * square);
    double energy = 4 * sixth * (sixth - 1), shift[3], way_back[3];
    double strength = fade * 24 * sixth * (2 * sixth - 1) / square;
    for (unsigned d = 0; d < 3; d++)
        shift[d] = way[d] - (a->at[0][d] - b->at[0][d]);
    for (unsigned k = 0; k < SITES; k++)
        for (unsigned l = 0; l < SITES; l++) {
            double between[3], back[3], product = charges[k] * charges[l];
            for (unsigned d = 0; d < 3; d++) {
                between[d] = a->at[k][d] - b->at[l][d] + shift[d];
                back[d] = -between[d];
            }
            double soft = 1 / sqrt(length2(between) + SOFT);
            energy += product * soft;
            add(on_a, k, between, fade * product * soft * soft * soft);
            add(on_b, l, back, fade * product * soft * soft * soft);
        }
    strength += energy * 4 * out / (CUTOFF * CUTOFF);
    for (unsigned d = 0; d < 3; d++)
        way_back[d] = -way[d];
    add(on_a, 0, way, strength);
    add(on_b, 0, way_back, strength);
    return fade * energy;
}

static void give(struct water *s, size_t i, int64_t force[SITES][3]) {
    hn_lock_acquire(&s->locks[i]);
    for (unsigned k = 0; k < SITES; k++)
        for (unsigned d = 0; d < 3; d++)
            s->molecules[i].force[k][d] += force[k][d];
    hn_lock_release(&s->locks[i]);
}

/* What a thread has found on a molecule and not given yet. */
struct gathered {
    int64_t force[SITES][3];
    bool any;
};

/* Gives it now, or notes it for later. */
static void give_or_note(struct water *s, struct gathered *all, size_t i, int64_t force[SITES][3]) {
    if (!HN_GATHERED) {
        give(s, i, force);
        return;
    }
    for (unsigned k = 0; k < SITES; k++)
        for (unsigned d = 0; d < 3; d++)
            all[i].force[k][d] += force[k][d];
    all[i].any = true;
}

/* From oxygen to oxygen through the nearest image; its length squared. */
static double nearest(const struct water *s, const struct molecule *a, const struct molecule *b, double way[3]) {
    for (unsigned d = 0; d < 3; d++) {
        double x = a->at[0][d] - b->at[0][d];
        way[d] = x - s->box * rint(x / s->box);
    }
    return length2(way);
}

/* Adds the forces of molecule i with itself and the half of the others that follow it; returns the energy. */
static int64_t half_shell(struct water *s, struct part *part, struct gathered *all, size_t i) {
    const struct molecule *m = &s->molecules[i];
    int64_t mine[SITES][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, energy = (int64_t)(bend(m, mine) * ONE);
    size_t half = s->n % 2 || i < s->n / 2 ? s->n / 2 : s->n / 2 - 1;
    for (size_t k = 1; k <= half; k++) {
        size_t j = i + k < s->n ? i + k : i + k - s->n;
        double way[3], square = nearest(s, m, &s->molecules[j], way);
        part->pairs++;
        if (square >= CUTOFF * CUTOFF)
            continue;
        int64_t theirs[SITES][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
        energy += (int64_t)(interact(m, &s->molecules[j], way, square, mine, theirs) * ONE);
        give_or_note(s, all, j, theirs);
    }
    give_or_note(s, all, i, mine);
    return energy;
}

/* Forces where the molecules are now, which must be zero before; ends with a barrier. */
static int64_t find_forces(struct water *s, struct part *part, size_t from, size_t to) {
    struct gathered *all = HN_GATHERED ? calloc(s->n, sizeof *all) : NULL;
    int64_t energy = 0;
    if (HN_GATHERED && !all)
        hn_die("forces", ENOMEM);
    for (size_t i = from; i < to; i++)
        energy += half_shell(s, part, all, i);
    for (size_t k = 0; all && k < s->n; k++) {
        size_t i = (from + k) % s->n; /* not all begin with the same */
        if (all[i].any)
            give(s, i, all[i].force);
    }
    free(all);
    hn_barrier_wait(&s->barrier);
    return energy;
}

/* Half a step of speed by the forces. */
static void push(struct molecule *m) {
    for (unsigned k = 0; k < SITES; k++)
        for (unsigned d = 0; d < 3; d++)
            m->speed[k][d] += 0.5 * STEP / masses[k] * ((double)m->force[k][d] / ONE);
}

static void drift(struct molecule *m) {
    for (unsigned k = 0; k < SITES; k++)
        for (unsigned d = 0; d < 3; d++) {
            m->at[k][d] += STEP * m->speed[k][d];
            m->force[k][d] = 0;
        }
}

static int64_t kinetic(const struct water *s, size_t from, size_t to) {
    int64_t energy = 0;
    for (size_t i = from; i < to; i++)
        for (unsigned k = 0; k < SITES; k++)
            energy += (int64_t)(0.5 * masses[k] * length2(s->molecules[i].speed[k]) * ONE);
    return energy;
}

static void simulate(struct water *s, struct part *part, size_t from, size_t to) {
    part->kinetic[0] = kinetic(s, from, to);
    part->potential[0] = find_forces(s, part, from, to);
    for (size_t step = 0; step < s->steps; step++) {
        for (size_t i = from; i < to; i++) {
            push(&s->molecules[i]);
            drift(&s->molecules[i]);
        }
        hn_barrier_wait(&s->barrier);
        part->potential[1] = find_forces(s, part, from, to);
        for (size_t i = from; i < to; i++)
            push(&s->molecules[i]);
    }
}

/* Adds molecule i to checksum and momentum; whether it is in one piece, and all before were well. */
static bool look_at(const struct molecule *m, size_t i, bool ok, struct part *part, uint64_t *checksum) {
    for (unsigned k = 0; k < SITES; k++)
        for (unsigned d = 0; d < 3; d++) {
            ok = ok && fabs(m->at[k][d] - m->at[0][d]) < 1;
            part->momentum[d] += masses[k] * m->speed[k][d];
            *checksum += hn_mix(hn_bits(m->at[k][d]) ^ hn_mix(hn_bits(m->speed[k][d]) ^ ((i * SITES + k) * 3 + d)));
        }
    return ok;
}

static void verify(struct water *s, struct part *part, size_t from, size_t to) {
    uint64_t checksum = 0;
    bool ok = true;
    part->kinetic[1] = kinetic(s, from, to);
    for (size_t i = from; i < to; i++)
        ok = look_at(&s->molecules[i], i, ok, part, &checksum);
    part->verdict.ok = ok;
    part->verdict.checksum = checksum;
}

#include "water_cells.h"

static void work(unsigned t, unsigned threads, void *shared) {
    struct water *s = shared;
    struct part *part = &s->parts[t];
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    hn_phase_begin("initialise");
    memset(part, 0, sizeof *part);
    make_molecules(s, from, to);
    hn_barrier_wait(&s->barrier);
    struct cells mine = {0, 0, NULL, 0};
    if (HN_SPATIAL) {
        mine = fill_cells(s, t, threads);
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_end("initialise");
    hn_phase_begin("simulate");
    if (HN_SPATIAL)
        simulate_cells(s, part, &mine);
    else
        simulate(s, part, from, to);
    hn_phase_end("simulate");
    if (HN_DAMAGE && t == 0)
        s->molecules[0].speed[1][2] += 0.1;
    hn_phase_begin("verify");
    if (HN_SPATIAL)
        verify_cells(s, part, &mine);
    else
        verify(s, part, from, to);
    hn_phase_end("verify");
}

static bool conserved(const struct water *s, unsigned threads) {
    int64_t energy[2] = {0, 0}, moving = 0;
    uint64_t pairs = 0, met = 0;
    double momentum[3] = {0, 0, 0};
    for (unsigned t = 0; t < threads; t++) {
        const struct part *p = &s->parts[t];
        energy[0] += p->kinetic[0] + p->potential[0];
        energy[1] += p->kinetic[1] + p->potential[1];
        moving += p->kinetic[0];
        pairs += p->pairs;
        met += p->met;
        for (unsigned d = 0; d < 3; d++)
            momentum[d] += p->momentum[d];
    }
    double change = (double)(energy[1] - energy[0]) / (double)moving;
    bool all = HN_SPATIAL ? met == s->n * (s->steps + 1) : pairs == s->n * (s->n - 1) / 2 * (s->steps + 1);
    return sqrt(length2(momentum)) < 1e-9 && fabs(change) < 1e-4 && all;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    size_t side = 3;
    if (o.n < 27 || o.n > 1 << 20)
        hn_misuse(&program, "27 to 2^20 molecules");
    while (side * side * side < o.n)
        side++;
    struct water *s = hn_shared_alloc("water", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->steps = o.more;
    s->box = SPACING * (double)side;
    s->molecules = hn_shared_alloc("molecules", o.n * sizeof(struct molecule));
    if (HN_SPATIAL) {
        s->along = cells_along(s->box);
        s->cells = hn_shared_alloc("cells", cells_of(s) * sizeof(struct cell));
    } else {
        s->locks = hn_shared_alloc("locks", o.n * sizeof(hn_lock));
    }
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_verdicts(&s->parts[0].verdict, sizeof s->parts[0], o.threads, &checksum);
    int status = hn_result(&program, &o, ok && conserved(s, o.threads), checksum);
    if (HN_SPATIAL)
        hn_shared_free(s->cells);
    else
        hn_shared_free(s->locks);
    hn_shared_free(s->molecules);
    hn_shared_free(s);
    return status;
}
