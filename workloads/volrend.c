/* Volume renderer (after Nieh and Levoy 1992): parallel rays through a volume of voxels, from the front to where next to no light
 * comes through; a pyramid over the volume tells which blocks are empty, and rays leap over them. Small tiles of the image are
 * tasks in a queue for each thread. Who has emptied its own takes from the others' queues, one tile at a time. The volume turns between frames.
 *
 * The tiles of a thread are first those of rows that follow each other, so whoever has the middle of the image has most of the
 * work and the others take it. Compiled with HN_BALANCED=1 they are dealt out in turn, so little is left to take. Either way
 * tiles lie in memory as they were dealt out, those of a thread from a page on. With HN_RECKONED=1 who takes what is reckoned
 * (reckon.h) from one ray of each tile.
 *
 * A pixel depends on its place alone, so the image does not depend on the thread count. The self-check: a sample of pixels
 * is rendered again by all steps, empty or not; every pixel was rendered once, and the image holds what was rendered. */
#include "hn_workload.h"
#include "reckon.h"

#ifndef HN_BALANCED
#define HN_BALANCED 0
#endif

static const struct hn_program program = {
    .summary = "Renderer of a volume, tiles in a queue for each thread.",
    .n_means = "edge of the volume, even, from 8 to 1024; the image's is twice that",
    .more = 'i',
    .more_means = "frames",
    .xs = {40, 2},
    .s = {96, 4},
    .m = {256, 16},
};

#define TILE 4u             /* rows and columns of a task */
#define PIXELS (TILE * TILE)
#define RUN (HN_PAGE_BYTES / (PIXELS * sizeof(uint32_t))) /* tiles of a page */
#define BLOCK 4u            /* edge of the lowest blocks of the pyramid */
#define LEVELS 9u
#define ENOUGH 0.04         /* of the light comes through: the rest is not looked for */
#define WIDE 1.3            /* of the image, where the volume is 1 */
#define SAMPLE 64u          /* pixels that are rendered again */
#define TAU 6.283185307179586476925

struct voxel {
    uint8_t opacity, shade;
};

/* Tiles that a thread was dealt, from `next` on still to render. */
struct queue {
    hn_lock lock;
    size_t next, count;
};

struct volrend {
    hn_barrier barrier;
    uint8_t *density;
    struct voxel *voxels;
    uint8_t *levels[LEVELS]; /* 1: something in this block is to be seen */
    uint32_t *tiles;         /* numbers, as they were dealt out */
    uint32_t *image;         /* pixels of the tiles in the same order */
    struct queue *queues;
    uint32_t *costs;         /* with HN_RECKONED, of the tiles in this order, frame by frame */
    uint16_t *taken_by;      /* the same: thread */
    size_t n, side, frames, run; /* edge; the image's; frames; places for tiles of a thread */
    unsigned height;         /* of the pyramid */
    struct part {
        struct hn_verdict verdict;
        uint64_t rendered, sum; /* pixels of the last frame that the thread has rendered: how many, mixed with their places */
        uint64_t taken;         /* tiles from others' queues, of all frames */
    } parts[];
};

/* ---- the volume --------------------------------------------------------------------------------------------- */

/* Noise from 0 to 1 at a place of the lattice. */
static double grain(size_t x, size_t y, size_t z) {
    return (double)(hn_mix(x | y << 20 | z << 40) >> 11) * 0x1p-53;
}

/* A head beside the middle: skin, a skull with holes, what is inside. */
static uint8_t density_at(size_t n, const size_t at[3]) {
    static const double centre[3] = {0.12, -0.1, 0.06}, radius[3] = {0.62, 0.8, 0.7};
    double square = 0;
    for (unsigned d = 0; d < 3; d++) {
        double x = (2 * (double)at[d] / (double)(n - 1) - 1 - centre[d]) / radius[d];
        square += x * x;
    }
    double coarse = grain(16 * at[0] / n, 16 * at[1] / n, 16 * at[2] / n), fine = grain(at[0], at[1], at[2]);
    if (square > 1)
        return (uint8_t)(20 * fine);
    if (square > 0.84)
        return (uint8_t)(70 + 20 * fine);
    if (square > 0.62)
        return (uint8_t)(coarse > 0.3 ? 180 + 40 * fine : 40);
    return (uint8_t)(50 + 60 * coarse + 10 * fine);
}

static void make_densities(struct volrend *s, size_t from, size_t to) {
    for (size_t z = from; z < to; z++)
        for (size_t y = 0; y < s->n; y++)
            for (size_t x = 0; x < s->n; x++)
                s->density[(z * s->n + y) * s->n + x] = density_at(s->n, (size_t[3]){x, y, z});
}

/* Brightness of the voxel at `i`, whose neighbours are so far away: how much the density's slope faces the light. */
static uint8_t shade_of(const uint8_t *density, size_t i, const size_t back[3], const size_t ahead[3]) {
    static const double light[3] = {-0.48, -0.64, -0.6};
    double length = 1e-9, facing = 0;
    for (unsigned d = 0; d < 3; d++) {
        double slope = (double)density[i + ahead[d]] - (double)density[i - back[d]];
        length += slope * slope;
        facing -= slope * light[d];
    }
    return (uint8_t)(60 + 190 * fmax(0, -facing) / sqrt(length));
}

/* Needs densities of the slices beside. */
static void make_voxels(struct volrend *s, size_t from, size_t to) {
    size_t n = s->n, apart[3] = {1, n, n * n};
    for (size_t z = from; z < to; z++)
        for (size_t y = 0; y < n; y++)
            for (size_t x = 0; x < n; x++) {
                size_t i = (z * n + y) * n + x, at[3] = {x, y, z}, back[3], ahead[3];
                for (unsigned d = 0; d < 3; d++) {
                    back[d] = at[d] > 0 ? apart[d] : 0;
                    ahead[d] = at[d] < n - 1 ? apart[d] : 0;
                }
                uint8_t dense = s->density[i];
                s->voxels[i].opacity = dense < 60 ? 0 : dense < 160 ? (uint8_t)(dense / 12) : (uint8_t)(dense / 3);
                s->voxels[i].shade = shade_of(s->density, i, back, ahead);
            }
}

/* ---- the pyramid -------------------------------------------------------------------------------------------- */

/* Blocks along an edge of a level. */
static size_t blocks_along(size_t n, unsigned level) {
    size_t edge = (size_t)BLOCK << level;
    return (n + edge - 1) / edge;
}

/* Whether a sample in the block can meet something: it takes in the voxels behind the block, too. */
static bool block_is_full(const struct volrend *s, size_t bx, size_t by, size_t bz) {
    size_t n = s->n;
    for (size_t z = bz * BLOCK; z <= bz * BLOCK + BLOCK && z < n; z++)
        for (size_t y = by * BLOCK; y <= by * BLOCK + BLOCK && y < n; y++)
            for (size_t x = bx * BLOCK; x <= bx * BLOCK + BLOCK && x < n; x++)
                if (s->voxels[(z * n + y) * n + x].opacity > 0)
                    return true;
    return false;
}

static bool parent_is_full(const uint8_t *below, size_t along, size_t bx, size_t by, size_t bz) {
    for (size_t z = 2 * bz; z < 2 * bz + 2 && z < along; z++)
        for (size_t y = 2 * by; y < 2 * by + 2 && y < along; y++)
            for (size_t x = 2 * bx; x < 2 * bx + 2 && x < along; x++)
                if (below[(z * along + y) * along + x])
                    return true;
    return false;
}

/* The thread's slices of each level, a barrier after each. */
static void make_pyramid(struct volrend *s, unsigned t, unsigned threads) {
    for (unsigned level = 0; level < s->height; level++) {
        size_t along = blocks_along(s->n, level);
        for (size_t z = hn_part(along, t, threads); z < hn_part(along, t + 1, threads); z++)
            for (size_t y = 0; y < along; y++)
                for (size_t x = 0; x < along; x++)
                    s->levels[level][(z * along + y) * along + x] =
                        level == 0 ? block_is_full(s, x, y, z)
                                   : parent_is_full(s->levels[level - 1], blocks_along(s->n, level - 1), x, y, z);
        hn_barrier_wait(&s->barrier);
    }
}

/* ---- rays --------------------------------------------------------------------------------------------------- */

/* Samples first..end-1 lie in the volume, one voxel apart. */
struct ray {
    double from[3], way[3];
    size_t first, end;
};

/* The pixel's ray; the volume has turned about its second axis. */
static struct ray ray_of(const struct volrend *s, double turned, size_t row, size_t column) {
    double half = 0.5 * (double)(s->n - 1), far = (double)s->n, scale = WIDE * far / (double)s->side;
    double right = ((double)column + 0.5) * scale - 0.5 * WIDE * far, down = ((double)row + 0.5) * scale - 0.5 * WIDE * far;
    double c = cos(turned), si = sin(turned);
    struct ray ray = {{half + c * right - si * far, half + down, half - si * right - c * far}, {si, 0, c}, 0, 0};
    double in = 0, out = 2 * far;
    for (unsigned d = 0; d < 3; d++) {
        double a = -ray.from[d], b = 2 * half - 1e-6 - ray.from[d];
        if (fabs(ray.way[d]) < 1e-12) {
            out = a <= 0 && b >= 0 ? out : -1;
            continue;
        }
        a /= ray.way[d];
        b /= ray.way[d];
        in = fmax(in, fmin(a, b));
        out = fmin(out, fmax(a, b));
    }
    if (in < out) {
        ray.first = (size_t)ceil(in + 1e-9);
        ray.end = (size_t)(out + 1);
    }
    return ray;
}

/* Where sample k is: its voxel and how far behind it. False outside, which rounding leaves possible at the ends. */
static bool sample_at(size_t n, const struct ray *ray, size_t k, size_t voxel[3], double behind[3]) {
    for (unsigned d = 0; d < 3; d++) {
        double x = ray->from[d] + (double)k * ray->way[d];
        if (!(x >= 0 && x < (double)(n - 1)))
            return false;
        voxel[d] = (size_t)x;
        behind[d] = x - (double)voxel[d];
    }
    return true;
}

/* Samples from one at this voxel to the first that may be in another block of the level; at least 1. */
static size_t leap(const struct ray *ray, const size_t voxel[3], const double behind[3], unsigned level) {
    double samples = HUGE_VAL, edge = (double)((size_t)BLOCK << level);
    for (unsigned d = 0; d < 3; d++) {
        double into = (double)(voxel[d] % ((size_t)BLOCK << level)) + behind[d];
        if (ray->way[d] > 1e-12)
            samples = fmin(samples, (edge - into) / ray->way[d]);
        else if (ray->way[d] < -1e-12)
            samples = fmin(samples, -into / ray->way[d]);
    }
    return samples > 1 ? (size_t)samples : 1;
}

/* How many samples from here on are certainly empty; 0 if this one may not be. */
static size_t empty_from(const struct volrend *s, const struct ray *ray, const size_t voxel[3], const double behind[3]) {
    unsigned level = 0;
    for (; level < s->height; level++) {
        size_t along = blocks_along(s->n, level), edge = (size_t)BLOCK << level;
        if (s->levels[level][(voxel[2] / edge * along + voxel[1] / edge) * along + voxel[0] / edge])
            break;
    }
    return level ? leap(ray, voxel, behind, level - 1) : 0;
}

/* Opacity and shade between eight voxels, each from 0 to 1; the shade is that of what is opaque. */
static void between(const struct volrend *s, const size_t voxel[3], const double behind[3], double *opacity, double *bright) {
    size_t n = s->n;
    double dense = 0, lit = 0;
    for (unsigned corner = 0; corner < 8; corner++) {
        unsigned x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
        const struct voxel *v = &s->voxels[((voxel[2] + z) * n + voxel[1] + y) * n + voxel[0] + x];
        double weight = (x ? behind[0] : 1 - behind[0]) * (y ? behind[1] : 1 - behind[1]) * (z ? behind[2] : 1 - behind[2]);
        weight *= v->opacity;
        dense += weight;
        lit += weight * v->shade;
    }
    *opacity = dense / 255;
    *bright = lit / (255.0 * 255.0);
}

/* Brightness of the pixel, 16 bits, and how much light comes through. `leaps`: over what is empty. `cost` gets about
 * what it loads. */
static uint32_t pixel(const struct volrend *s, double turned, size_t row, size_t column, bool leaps, uint32_t *cost) {
    struct ray ray = ray_of(s, turned, row, column);
    double through = 1, sum = 0;
    size_t voxel[3];
    double behind[3];
    for (size_t k = ray.first; k < ray.end && through > ENOUGH;) {
        size_t empty = 1;
        *cost += 2;
        if (sample_at(s->n, &ray, k, voxel, behind)) {
            empty = leaps ? empty_from(s, &ray, voxel, behind) : 0;
            if (!empty) {
                double opacity, bright;
                between(s, voxel, behind, &opacity, &bright);
                sum += through * bright;
                through *= 1 - opacity;
                *cost += 16;
                empty = 1;
            }
        }
        k += empty;
    }
    return (uint32_t)(65535 * fmin(sum, 1)) << 16 | (uint32_t)(65535 * through);
}

static double turned_in(size_t frame) {
    return TAU * (0.02 + 0.05 * (double)frame);
}

/* ---- tiles -------------------------------------------------------------------------------------------------- */

static size_t tiles_of(const struct volrend *s) {
    return s->side / TILE * (s->side / TILE);
}

/* The i-th tile of a thread. Dealt in turn, a row begins elsewhere than the one above: else a thread would have a column. */
static uint32_t dealt(size_t across, size_t i, unsigned t, unsigned threads) {
    if (!HN_BALANCED)
        return (uint32_t)(hn_part(across * across, t, threads) + i);
    size_t k = i * threads + t, row = k / across;
    return (uint32_t)(row * across + (k + row * (across * 3 / 8)) % across);
}

/* Fills the thread's queue. */
static void deal(struct volrend *s, unsigned t, unsigned threads) {
    size_t tiles = tiles_of(s), across = s->side / TILE;
    struct queue *mine = &s->queues[t];
    mine->next = 0;
    mine->count = HN_BALANCED ? tiles / threads + (t < tiles % threads) : hn_part(tiles, t + 1, threads) - hn_part(tiles, t, threads);
    for (size_t i = 0; i < mine->count; i++)
        s->tiles[t * s->run + i] = dealt(across, i, t, threads);
}

static uint64_t mixed(uint32_t colour, uint32_t tile, size_t inside) {
    return hn_mix((uint64_t)colour << 32 ^ (tile * (uint64_t)PIXELS + inside));
}

/* What the thread's tiles are expected to take in each frame; then one thread reckons who takes them. Ends with a barrier. */
static void foresee(struct volrend *s, unsigned t, unsigned threads) {
    size_t across = s->side / TILE, counts[HN_MAX_THREADS];
    for (size_t frame = 0; frame < s->frames; frame++)
        for (size_t i = 0, place = t * s->run; i < s->queues[t].count; i++, place++) {
            uint32_t tile = s->tiles[place], *cost = &s->costs[frame * s->run * threads + place];
            *cost = 1;
            pixel(s, turned_in(frame), tile / across * TILE + TILE / 2, tile % across * TILE + TILE / 2, true, cost);
            *cost *= PIXELS;
        }
    hn_barrier_wait(&s->barrier);
    for (unsigned u = 0; t == 0 && u < threads; u++)
        counts[u] = s->queues[u].count;
    for (size_t frame = 0; t == 0 && frame < s->frames; frame++)
        reckon(s->costs + frame * s->run * threads, counts, s->run, threads, threads, s->taken_by + frame * s->run * threads);
    hn_barrier_wait(&s->barrier);
}

/* Renders the tile that was dealt to this place. */
static void render_tile(struct volrend *s, struct part *part, double turned, size_t place) {
    uint32_t tile = s->tiles[place];
    size_t across = s->side / TILE, top = tile / across * TILE, left = tile % across * TILE;
    uint32_t cost = 0;
    for (size_t i = 0; i < PIXELS; i++) {
        uint32_t colour = pixel(s, turned, top + i / TILE, left + i % TILE, true, &cost);
        s->image[place * PIXELS + i] = colour;
        part->rendered++;
        part->sum += mixed(colour, tile, i);
    }
}

/* Takes the next tile of the queue; false if none is left. `i` is its number there, and at first that of the first that may be meant. */
static bool take(struct volrend *s, unsigned from, size_t *i, unsigned t, const uint16_t *taken_by) {
    struct queue *q = &s->queues[from];
    while (HN_RECKONED && *i < q->count && taken_by[from * s->run + *i] != t)
        ++*i;
    hn_lock_acquire(&q->lock);
    bool found = (HN_RECKONED ? *i : q->next) < q->count;
    if (!HN_RECKONED)
        *i = q->next;
    q->next += found;
    hn_lock_release(&q->lock);
    return found;
}

/* One frame: the thread's own queue, then those after it. A queue that was found empty stays so. */
static void render(struct volrend *s, unsigned t, unsigned threads, size_t frame) {
    struct part *part = &s->parts[t];
    const uint16_t *taken_by = HN_RECKONED ? s->taken_by + frame * s->run * threads : NULL;
    part->rendered = part->sum = 0;
    for (unsigned past = 0; past < threads; past++) {
        unsigned from = (t + past) % threads;
        for (size_t i = 0; take(s, from, &i, t, taken_by); i++) {
            part->taken += past > 0;
            render_tile(s, part, turned_in(frame), from * s->run + i);
        }
    }
}

static void verify(struct volrend *s, unsigned t, unsigned threads) {
    uint64_t checksum = 0;
    bool ok = true;
    double turned = turned_in(s->frames - 1);
    uint32_t cost = 0;
    const struct queue *mine = &s->queues[t];
    for (size_t i = 0; i < mine->count; i++)
        for (size_t k = 0; k < PIXELS; k++)
            checksum += mixed(s->image[(t * s->run + i) * PIXELS + k], s->tiles[t * s->run + i], k);
    for (size_t k = 0; mine->count && k * threads < SAMPLE; k++) {
        size_t i = hn_mix(k * threads + t) % mine->count, inside = hn_mix(k + 1) % PIXELS, across = s->side / TILE;
        uint32_t tile = s->tiles[t * s->run + i];
        uint32_t again = pixel(s, turned, tile / across * TILE + inside / TILE, tile % across * TILE + inside % TILE, false, &cost);
        ok = ok && s->image[(t * s->run + i) * PIXELS + inside] == again;
    }
    s->parts[t].verdict.ok = ok;
    s->parts[t].verdict.checksum = checksum;
}

static void initialise(struct volrend *s, unsigned t, unsigned threads) {
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    make_densities(s, from, to);
    hn_barrier_wait(&s->barrier);
    make_voxels(s, from, to);
    s->parts[t].taken = 0;
    deal(s, t, threads);
    hn_barrier_wait(&s->barrier);
    make_pyramid(s, t, threads);
    if (HN_RECKONED)
        foresee(s, t, threads);
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct volrend *s = shared;
    hn_phase_begin("initialise");
    initialise(s, t, threads);
    hn_phase_end("initialise");
    hn_phase_begin("render");
    for (size_t frame = 0; frame < s->frames; frame++) {
        render(s, t, threads, frame);
        hn_barrier_wait(&s->barrier);
        s->queues[t].next = 0;
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_end("render");
    if (HN_DAMAGE) {
        if (t == 0)
            s->image[0] ^= 1;
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_begin("verify");
    verify(s, t, threads);
    hn_phase_end("verify");
}

/* Memory for everything but the head of it. */
static void make_room(struct volrend *s, unsigned threads) {
    size_t voxels = s->n * s->n * s->n;
    s->run = (tiles_of(s) / threads + RUN) / RUN * RUN;
    s->density = hn_shared_alloc("density", voxels);
    s->voxels = hn_shared_alloc("voxels", voxels * sizeof(struct voxel));
    for (s->height = 0; s->height == 0 || blocks_along(s->n, s->height - 1) > 1; s->height++) {
        size_t along = blocks_along(s->n, s->height);
        s->levels[s->height] = hn_shared_alloc("pyramid", along * along * along);
    }
    s->tiles = hn_shared_alloc("tiles", threads * s->run * sizeof(uint32_t));
    s->image = hn_shared_alloc("image", threads * s->run * PIXELS * sizeof(uint32_t));
    if (HN_RECKONED) {
        s->costs = hn_shared_alloc("costs", s->frames * threads * s->run * sizeof(uint32_t));
        s->taken_by = hn_shared_alloc("takers", s->frames * threads * s->run * sizeof(uint16_t));
    }
    s->queues = hn_shared_alloc("queues", threads * sizeof(struct queue));
    for (unsigned t = 0; t < threads; t++)
        hn_lock_init(&s->queues[t].lock);
}

static void free_room(struct volrend *s) {
    hn_shared_free(s->queues);
    if (HN_RECKONED) {
        hn_shared_free(s->taken_by);
        hn_shared_free(s->costs);
    }
    hn_shared_free(s->image);
    hn_shared_free(s->tiles);
    for (unsigned level = 0; level < s->height; level++)
        hn_shared_free(s->levels[level]);
    hn_shared_free(s->voxels);
    hn_shared_free(s->density);
    hn_shared_free(s);
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 8 || o.n > 1024 || o.n % 2)
        hn_misuse(&program, "an even edge from 8 to 1024");
    struct volrend *s = hn_shared_alloc("volrend", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->side = 2 * o.n;
    s->frames = o.more;
    make_room(s, o.threads);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum, rendered = 0, sum = 0, taken = 0;
    bool ok = hn_verdicts(&s->parts[0].verdict, sizeof s->parts[0], o.threads, &checksum);
    for (unsigned t = 0; t < o.threads; t++) {
        rendered += s->parts[t].rendered;
        sum += s->parts[t].sum;
        taken += s->parts[t].taken;
    }
    if (hn_verbose)
        fprintf(stderr, "taken from others %" PRIu64 " of %zu tiles\n", taken, o.more * tiles_of(s));
    int status = hn_result(&program, &o, ok && rendered == s->side * s->side && sum == checksum, checksum);
    free_room(s);
    return status;
}
