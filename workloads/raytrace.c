/* Ray tracer of mirroring spheres: small tiles of the image are tasks in a shared queue, whoever is free takes the next. One
 * thread builds the scene, a tree of boxes that everybody then only reads. A tile is half a cache line wide, so
 * neighbours in the queue, which different threads render at one time, share the lines of the image.
 *
 * Compiled with HN_RAY_IDS=1 every ray, mirrored ones and those towards the light included, first takes a number of its own under
 * one lock, as the program of SPLASH-2 does; what is better for nodes that share no memory does without. With HN_RECKONED=1 who takes
 * which tile is reckoned (reckon.h) from four pixels of each.
 *
 * A pixel depends on its place alone, so the image does not depend on the thread count. The self-check: a sample of pixels
 * is traced again without the tree, sphere by sphere; every pixel was rendered once, and the image holds what was rendered; no
 * number of a ray is missing or was given twice. */
#include "hn_workload.h"
#include "reckon.h"

#ifndef HN_RAY_IDS
#define HN_RAY_IDS 0
#endif

static const struct hn_program program = {
    .summary = "Ray tracer of spheres, tiles in a shared queue.",
    .n_means = "rows and columns of the image",
    .more = 'b',
    .more_means = "spheres",
    .xs = {80, 512},
    .s = {192, 4096},
    .m = {448, 16384},
};

#define TILE 8u      /* rows and columns of a task */
#define LEAF 4u      /* spheres of a box that has no boxes in it */
#define BOUNCES 3u
#define SAMPLE 64u   /* pixels that are traced again */
#define NOTHING UINT32_MAX
#define STACK 64u    /* boxes yet to look at: the tree is balanced */

struct sphere {
    double centre[3], radius, mirror; /* the share of light that it mirrors */
    double colour[3];
};

/* With `count` 0 its halves are the next box and box `other`; else these spheres are in it. */
struct box {
    double low[3], high[3];
    uint32_t first, count, other;
};

struct ray {
    double from[3], way[3]; /* of length 1 */
};

struct hit {
    double distance;
    uint32_t sphere; /* or NOTHING */
};

/* The numbers of rays. */
struct ids {
    hn_lock lock;
    uint64_t next;
};

struct raytrace {
    hn_barrier barrier;
    hn_lock lock; /* of taken */
    size_t taken; /* tiles */
#if HN_RECKONED
    uint32_t *costs;    /* of tiles */
    uint16_t *taken_by; /* thread */
#endif
    struct ids *ids; /* with HN_RAY_IDS */
    struct sphere *spheres;
    struct box *boxes;
    uint32_t *image;
    size_t n, count, used; /* edge; spheres; boxes */
    struct part {
        struct hn_verdict verdict;
        uint64_t rendered, sum; /* pixels that the thread has rendered: how many, mixed with their places */
        uint64_t rays, numbers; /* numbers that its rays took: how many, their mixed sum */
    } parts[];
};

static const double light[3] = {-0.48, 0.64, -0.6};

static double fraction(uint64_t noise) {
    return (double)(noise >> 11) * 0x1p-53;
}

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* ---- the scene ---------------------------------------------------------------------------------------------- */

/* Bits of x, 10 of them, spread out to every third place. */
static uint32_t spread(double x) {
    uint32_t bits = (uint32_t)(x * 1023), out = 0;
    for (unsigned i = 0; i < 10; i++)
        out |= (bits >> i & 1) << 3 * i;
    return out;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Spheres in the unit cube, in the order of a space-filling curve (Morton 1966), so that neighbours are neighbours. */
static void make_spheres(struct raytrace *s) {
    uint64_t *order = malloc(s->count * sizeof *order);
    if (!order)
        hn_die("order of spheres", ENOMEM);
    for (size_t i = 0; i < s->count; i++) {
        uint32_t code = 0;
        for (unsigned d = 0; d < 3; d++)
            code |= spread(fraction(hn_mix(8 * i + d))) << d;
        order[i] = (uint64_t)code << 32 | i;
    }
    qsort(order, s->count, sizeof *order, ascending);
    double size = 0.5 / cbrt((double)s->count);
    for (size_t k = 0; k < s->count; k++) {
        size_t i = order[k] & UINT32_MAX;
        struct sphere *sphere = &s->spheres[k];
        for (unsigned d = 0; d < 3; d++) {
            sphere->centre[d] = fraction(hn_mix(8 * i + d));
            sphere->colour[d] = fraction(hn_mix(8 * i + d + 3));
        }
        sphere->radius = size * (0.3 + 0.7 * fraction(hn_mix(8 * i + 6)));
        sphere->mirror = 0.7 * fraction(hn_mix(8 * i + 7));
    }
    free(order);
}

/* The box of spheres first..first+count-1 and all in it; returns its number. */
static uint32_t make_box(struct raytrace *s, uint32_t first, uint32_t count) {
    uint32_t number = (uint32_t)s->used++;
    struct box *box = &s->boxes[number];
    *box = (struct box){{2, 2, 2}, {-1, -1, -1}, first, count, 0};
    for (uint32_t i = first; i < first + count; i++)
        for (unsigned d = 0; d < 3; d++) {
            const struct sphere *sphere = &s->spheres[i];
            double reach = sphere->radius + 1e-9; /* grazing rays are not lost by rounding */
            box->low[d] = fmin(box->low[d], sphere->centre[d] - reach);
            box->high[d] = fmax(box->high[d], sphere->centre[d] + reach);
        }
    if (count > LEAF) {
        box->count = 0;
        make_box(s, first, count / 2);
        box->other = make_box(s, first + count / 2, count - count / 2);
    }
    return number;
}

/* ---- rays --------------------------------------------------------------------------------------------------- */

static void try_sphere(const struct raytrace *s, uint32_t i, const struct ray *ray, struct hit *best) {
    const struct sphere *sphere = &s->spheres[i];
    double to[3] = {sphere->centre[0] - ray->from[0], sphere->centre[1] - ray->from[1], sphere->centre[2] - ray->from[2]};
    double along = dot(to, ray->way), under = along * along - dot(to, to) + sphere->radius * sphere->radius;
    if (under < 0)
        return;
    double root = sqrt(under), distance = along - root > 1e-7 ? along - root : along + root;
    if (distance > 1e-7 && (distance < best->distance || (distance == best->distance && i < best->sphere)))
        *best = (struct hit){distance, i};
}

static bool enters(const struct box *box, const struct ray *ray, double before) {
    double in = 0, out = before;
    for (unsigned d = 0; d < 3; d++) {
        double a = (box->low[d] - ray->from[d]) / ray->way[d], b = (box->high[d] - ray->from[d]) / ray->way[d];
        in = fmax(in, fmin(a, b));
        out = fmin(out, fmax(a, b));
    }
    return in <= out;
}

/* Boxes that the calling thread has looked at, with HN_RECKONED. */
static __thread uint32_t looked_at;

static struct hit nearest_in_tree(const struct raytrace *s, const struct ray *ray) {
    struct hit best = {HUGE_VAL, NOTHING};
    uint32_t stack[STACK], depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        uint32_t number = stack[--depth];
        const struct box *box = &s->boxes[number];
        if (HN_RECKONED)
            looked_at++;
        if (!enters(box, ray, best.distance))
            continue;
        for (uint32_t i = box->first; i < box->first + box->count; i++)
            try_sphere(s, i, ray, &best);
        if (box->count == 0) {
            stack[depth++] = box->other;
            stack[depth++] = number + 1;
        }
    }
    return best;
}

static struct hit nearest_of_all(const struct raytrace *s, const struct ray *ray) {
    struct hit best = {HUGE_VAL, NOTHING};
    for (uint32_t i = 0; i < s->count; i++)
        try_sphere(s, i, ray, &best);
    return best;
}

typedef struct hit finder(const struct raytrace *s, const struct ray *ray);

/* Numbers that rays of the calling thread took: how many, their mixed sum. */
static __thread uint64_t rays, numbers;

/* As nearest_in_tree, for a ray that takes its number first. */
static struct hit nearest_numbered(const struct raytrace *s, const struct ray *ray) {
    hn_lock_acquire(&s->ids->lock);
    uint64_t number = s->ids->next++;
    hn_lock_release(&s->ids->lock);
    rays++;
    numbers += hn_mix(number);
    return nearest_in_tree(s, ray);
}

/* Adds what a hit sphere shows of its own, times `weight`; turns the ray to where it mirrors. */
static void shade(const struct raytrace *s, finder *find, struct hit hit, struct ray *ray, double weight, double sum[3]) {
    const struct sphere *sphere = &s->spheres[hit.sphere];
    double normal[3];
    struct ray shadow;
    for (unsigned d = 0; d < 3; d++) {
        ray->from[d] += hit.distance * ray->way[d];
        normal[d] = (ray->from[d] - sphere->centre[d]) / sphere->radius;
        shadow.from[d] = ray->from[d];
        shadow.way[d] = light[d];
    }
    double facing = dot(normal, light), bright = 0.15, across = dot(normal, ray->way);
    if (facing > 0 && find(s, &shadow).sphere == NOTHING)
        bright += 0.85 * facing;
    for (unsigned d = 0; d < 3; d++) {
        sum[d] += weight * (1 - sphere->mirror) * bright * sphere->colour[d];
        ray->way[d] -= 2 * across * normal[d];
    }
}

/* Colour of the pixel in this row and column: 8 bits each of red, green and blue. */
static uint32_t pixel(const struct raytrace *s, finder *find, size_t row, size_t column) {
    double weight = 1, sum[3] = {0, 0, 0}, scale = 1 / (double)s->n;
    struct ray ray = {{0.5, 0.5, -1.1}, {((double)column + 0.5) * scale - 0.5, 0.5 - ((double)row + 0.5) * scale, 1.1}};
    double length = sqrt(dot(ray.way, ray.way));
    for (unsigned d = 0; d < 3; d++)
        ray.way[d] /= length;
    for (unsigned bounce = 0; bounce <= BOUNCES; bounce++) {
        struct hit hit = find(s, &ray);
        if (hit.sphere == NOTHING) {
            for (unsigned d = 0; d < 3; d++)
                sum[d] += weight * (0.5 + 0.3 * ray.way[1]);
            break;
        }
        shade(s, find, hit, &ray, weight, sum);
        weight *= s->spheres[hit.sphere].mirror;
    }
    uint32_t colour = 0;
    for (unsigned d = 0; d < 3; d++)
        colour = colour << 8 | (uint32_t)(255 * fmin(sum[d], 1));
    return colour;
}

/* ---- the threads -------------------------------------------------------------------------------------------- */

static uint64_t mixed(uint32_t colour, size_t place) {
    return hn_mix((uint64_t)colour << 32 ^ place);
}

static void render_tile(struct raytrace *s, struct part *part, size_t tile) {
    size_t across = (s->n + TILE - 1) / TILE, top = tile / across * TILE, left = tile % across * TILE;
    for (size_t row = top; row < top + TILE && row < s->n; row++)
        for (size_t column = left; column < left + TILE && column < s->n; column++) {
            size_t place = row * s->n + column;
            uint32_t colour = pixel(s, HN_RAY_IDS ? nearest_numbered : nearest_in_tree, row, column);
            s->image[place] = colour;
            part->rendered++;
            part->sum += mixed(colour, place);
        }
}

#if HN_RECKONED
/* What each tile is expected to take; then one thread reckons who takes it. Ends with a barrier. */
static void foresee(struct raytrace *s, unsigned t, unsigned threads) {
    size_t across = (s->n + TILE - 1) / TILE, all = across * across;
    for (size_t tile = t; tile < all; tile += threads) {
        size_t top = tile / across * TILE, left = tile % across * TILE;
        looked_at = 0;
        for (size_t i = 1; i < TILE; i += TILE / 2)
            for (size_t j = 1; j < TILE; j += TILE / 2)
                pixel(s, nearest_in_tree, top + i, left + j);
        s->costs[tile] = 10 * (TILE * TILE / 4) * looked_at;
    }
    hn_barrier_wait(&s->barrier);
    if (t == 0)
        reckon(s->costs, &all, all, 1, threads, s->taken_by);
    hn_barrier_wait(&s->barrier);
}

/* The first tile from this one on that the thread is to take. */
static size_t foreseen(const struct raytrace *s, size_t tile, size_t all, unsigned t) {
    while (tile < all && s->taken_by[tile] != t)
        tile++;
    return tile;
}
#endif

static void render(struct raytrace *s, struct part *part, unsigned t) {
    size_t across = (s->n + TILE - 1) / TILE;
    (void)t;
    for (size_t next = 0;; next++) {
        hn_lock_acquire(&s->lock);
        size_t tile = s->taken++;
        hn_lock_release(&s->lock);
#if HN_RECKONED
        tile = next = foreseen(s, next, across * across, t);
#endif
        if (tile >= across * across)
            return;
        render_tile(s, part, tile);
    }
}

static void verify(struct raytrace *s, unsigned t, unsigned threads) {
    size_t pixels = s->n * s->n;
    uint64_t checksum = 0;
    bool ok = true;
    for (size_t place = hn_part(pixels, t, threads); place < hn_part(pixels, t + 1, threads); place++)
        checksum += mixed(s->image[place], place);
    for (size_t k = t; k < SAMPLE; k += threads) {
        size_t place = hn_mix(k) % pixels;
        ok = ok && s->image[place] == pixel(s, nearest_of_all, place / s->n, place % s->n);
    }
    s->parts[t].verdict.ok = ok;
    s->parts[t].verdict.checksum = checksum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct raytrace *s = shared;
    struct part *part = &s->parts[t];
    hn_phase_begin("initialise");
    part->rendered = part->sum = 0;
    if (t == 0) {
        make_spheres(s);
        make_box(s, 0, (uint32_t)s->count);
    }
    hn_barrier_wait(&s->barrier);
#if HN_RECKONED
    foresee(s, t, threads);
#endif
    hn_phase_end("initialise");
    hn_phase_begin("render");
    render(s, part, t);
    if (HN_RAY_IDS) {
        part->rays = rays;
        part->numbers = numbers;
    }
    hn_barrier_wait(&s->barrier);
    hn_phase_end("render");
    if (HN_DAMAGE) {
        if (t == 0)
            s->image[s->n * s->n / 2] ^= 1;
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_begin("verify");
    verify(s, t, threads);
    hn_phase_end("verify");
}

/* Whether the rays of all threads have the numbers that were given out, each once. */
static bool numbered(const struct raytrace *s, unsigned threads) {
    uint64_t all = 0, found = 0, wanted = 0;
    for (unsigned t = 0; t < threads; t++) {
        all += s->parts[t].rays;
        found += s->parts[t].numbers;
    }
    for (uint64_t number = 0; number < s->ids->next; number++)
        wanted += hn_mix(number);
    return all == s->ids->next && all >= s->n * s->n && found == wanted;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > 65536 || o.more > 1 << 24)
        hn_misuse(&program, "at most 65536 rows and 2^24 spheres");
    struct raytrace *s = hn_shared_alloc("raytrace", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->count = o.more;
    s->taken = s->used = 0;
    s->spheres = hn_shared_alloc("spheres", o.more * sizeof(struct sphere));
    s->boxes = hn_shared_alloc("boxes", 2 * o.more * sizeof(struct box));
    s->image = hn_shared_alloc("image", o.n * o.n * sizeof(uint32_t));
    if (HN_RAY_IDS) {
        s->ids = hn_shared_alloc("ray ids", sizeof *s->ids);
        s->ids->next = 0;
        hn_lock_init(&s->ids->lock);
    }
#if HN_RECKONED
    size_t tiles = (o.n + TILE - 1) / TILE * ((o.n + TILE - 1) / TILE);
    s->costs = hn_shared_alloc("costs", tiles * sizeof(uint32_t));
    s->taken_by = hn_shared_alloc("takers", tiles * sizeof(uint16_t));
#endif
    hn_lock_init(&s->lock);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    bool ok = true;
    uint64_t checksum = 0, rendered = 0, sum = 0;
    for (unsigned t = 0; t < o.threads; t++) {
        ok = ok && s->parts[t].verdict.ok;
        checksum += s->parts[t].verdict.checksum;
        rendered += s->parts[t].rendered;
        sum += s->parts[t].sum;
    }
    ok = ok && (!HN_RAY_IDS || numbered(s, o.threads));
    int status = hn_result(&program, &o, ok && rendered == o.n * o.n && sum == checksum, checksum);
#if HN_RECKONED
    hn_shared_free(s->taken_by);
    hn_shared_free(s->costs);
#endif
    if (HN_RAY_IDS)
        hn_shared_free(s->ids);
    hn_shared_free(s->image);
    hn_shared_free(s->boxes);
    hn_shared_free(s->spheres);
    hn_shared_free(s);
    return status;
}
