/* Placing chips on a square board by simulated annealing, after Bolosky's thesis (1993, section 2.2.3): 81 chips on 9 by 9
 * places, where a move exchanges two of them that are at most as far apart as the temperature allows, and is accepted
 * if less wire is needed, or by chance while it is hot.
 *
 * Threads propose one move each on the board as it stands, and then those that are accepted and do not touch a chip of a
 * thread before them are made: so a run depends on the seed and the thread count, and not on the host. All read where
 * all chips are, and whoever moves one writes there.
 *
 * The self-check is that every chip is on one place and on the one it is said to be on, and that wire was saved; the
 * checksum is that of the chips, which no run changes. */
#include "thesis.h"

static const struct hn_program program = {
    .summary = "Chips placed on a board by simulated annealing.",
    .n_means = "moves considered, by all threads together",
    .more = 'r',
    .more_means = "seed of the moves",
    .xs = {1600, 1},
    .s = {3200, 1},
    .m = {64000, 1},
    .p = {643552, 1},
};

#define SIDE 9
#define CHIPS ((size_t)SIDE * SIDE)
#define WIRES 4 /* most between two chips */

struct proposal {
    _Alignas(HN_LINE_BYTES) uint32_t chips[2];
    uint32_t accepted;
};

struct board {
    hn_barrier barrier;
    uint32_t *x, *y;     /* of each chip, one array after the other */
    uint32_t *chip_at;   /* by place, after them */
    uint32_t *wires;     /* between two chips: a square */
    struct proposal *proposals;
    size_t rounds;
    uint64_t seed;
};

static uint32_t far(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}

/* Wire from a chip, if it were at (x, y), to all others but one. */
static uint32_t wire(const struct board *b, size_t chip, size_t but, uint32_t x, uint32_t y) {
    const uint32_t *wires = b->wires + chip * CHIPS, *xs = b->x, *ys = b->y;
    uint32_t sum = 0;
    for (size_t k = 0; k < CHIPS; k++)
        if (k != chip && k != but)
            sum += wires[k] * (far(xs[k], x) + far(ys[k], y));
    return sum;
}

static uint64_t all_wire(const struct board *b) {
    uint64_t sum = 0;
    for (size_t chip = 0; chip < CHIPS; chip++)
        sum += wire(b, chip, chip, b->x[chip], b->y[chip]);
    return sum / 2;
}

static void lay_out(const struct board *b) {
    for (size_t i = 0; i < CHIPS; i++) {
        b->x[i] = (uint32_t)(i % SIDE);
        b->y[i] = (uint32_t)(i / SIDE);
        b->chip_at[i] = (uint32_t)i;
        for (size_t k = 0; k < CHIPS; k++) {
            uint64_t noise = hn_mix(i < k ? i * CHIPS + k : k * CHIPS + i);
            b->wires[i * CHIPS + k] = noise % 8 == 0 ? (uint32_t)(noise >> 32) % WIRES + 1 : 0;
        }
    }
}

/* A coordinate at most `reach` from this one, on the board. */
static uint32_t near(uint32_t at, uint32_t reach, uint64_t noise) {
    uint32_t low = at > reach ? at - reach : 0, high = at + reach < SIDE ? at + reach : SIDE - 1;
    return low + (uint32_t)(noise % (high - low + 1));
}

static struct proposal propose(const struct board *b, size_t round, unsigned t) {
    uint64_t noise = hn_mix(hn_mix(b->seed) ^ (round << 12 | t));
    size_t left = b->rounds - round;
    uint32_t reach = 1 + (uint32_t)((SIDE - 2) * left / b->rounds);
    uint32_t one = (uint32_t)((noise & 0xffffff) % CHIPS), x = b->x[one], y = b->y[one];
    uint32_t new_x = near(x, reach, noise >> 24 & 0xffff), new_y = near(y, reach, noise >> 40 & 0xffff);
    uint32_t other = b->chip_at[new_y * SIDE + new_x];
    struct proposal p = {.chips = {one, other}, .accepted = 0};
    if (other == one)
        return p;
    uint32_t before = wire(b, one, other, x, y) + wire(b, other, one, new_x, new_y);
    uint32_t after = wire(b, one, other, new_x, new_y) + wire(b, other, one, x, y);
    /* Worse by up to a tenth while it is hottest. */
    uint32_t bearable = (uint32_t)((double)before * 0.1 * (double)left / (double)b->rounds * (double)(noise >> 56) / 256);
    p.accepted = after < before + bearable;
    return p;
}

/* Makes the move of a thread unless one before it touches the same chips. */
static void move(const struct board *b, unsigned t) {
    const struct proposal *mine = &b->proposals[t];
    if (!mine->accepted)
        return;
    for (unsigned other = 0; other < t; other++) {
        const struct proposal *p = &b->proposals[other];
        for (unsigned i = 0; i < 4; i++)
            if (p->accepted && p->chips[i / 2] == mine->chips[i % 2])
                return;
    }
    uint32_t one = mine->chips[0], two = mine->chips[1], x = b->x[one], y = b->y[one];
    b->x[one] = b->x[two];
    b->y[one] = b->y[two];
    b->x[two] = x;
    b->y[two] = y;
    b->chip_at[y * SIDE + x] = two;
    b->chip_at[b->y[one] * SIDE + b->x[one]] = one;
}

static void work(unsigned t, unsigned threads, void *shared) {
    const struct board *b = shared;
    hn_barrier *barrier = (hn_barrier *)&b->barrier;
    (void)threads;
    thesis_begin(barrier, t);
    if (t == 0)
        lay_out(b);
    hn_barrier_wait(barrier);
    for (size_t round = 0; round < b->rounds; round++) {
        b->proposals[t] = propose(b, round, t);
        hn_barrier_wait(barrier);
        move(b, t);
        hn_barrier_wait(barrier);
    }
    thesis_end(barrier, t);
}

static bool verify(const struct board *b, struct board *start, uint64_t *checksum) {
    bool ok = true;
    *checksum = 0;
    for (size_t chip = 0; chip < CHIPS; chip++) {
        size_t place = b->y[chip] * SIDE + b->x[chip];
        ok = ok && place < CHIPS && b->chip_at[place] == chip;
        *checksum = thesis_sum(*checksum, chip);
    }
    lay_out(start);
    return ok && all_wire(b) < all_wire(start);
}

static void make_board(struct board *b, unsigned threads) {
    b->x = thesis_alloc("places", 3 * CHIPS * sizeof(uint32_t));
    b->y = b->x + CHIPS;
    b->chip_at = b->y + CHIPS;
    b->wires = thesis_alloc("wires", CHIPS * CHIPS * sizeof(uint32_t));
    b->proposals = thesis_alloc("proposals", threads * sizeof *b->proposals);
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    struct board *b = thesis_control("board", sizeof *b), *start = thesis_control("start", sizeof *start);
    b->rounds = o.n / o.threads + 1;
    b->seed = o.more;
    make_board(b, o.threads);
    hn_barrier_init(&b->barrier, o.threads);
    hn_run(o.threads, work, b);
    if (HN_DAMAGE)
        b->chip_at[0] ^= 1;
    make_board(start, 1);
    uint64_t checksum;
    bool ok = verify(b, start, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
