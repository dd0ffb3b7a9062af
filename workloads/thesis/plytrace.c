/* Rendering of surfaces made of polygons, after Bolosky's thesis (1993, section 2.2.5). Threads transform vertices, then
 * triangles are put into lists by the tile of the picture that they touch, and the lists are the work pile, the one that
 * is expected to take longest first. A list goes to whoever is free, which is reckoned from what the lists before it are
 * expected to take and not left to the host: so recordings repeat.
 *
 * The self-check renders once more with one thread, after the traced phase, and compares. The result does not depend on
 * the thread count. */
#include "thesis.h"

static const struct hn_program program = {
    .summary = "Rendering of polygons from a pile of lists.",
    .n_means = "rows and columns of the picture, a multiple of 20",
    .more = 'b',
    .more_means = "triangles",
    .xs = {40, 100},
    .s = {160, 500},
    .m = {320, 1700},
    .p = {320, 1700},
};

#define TILE 20u

struct vertex {
    float at[3];
};

struct triangle {
    float at[3][3];  /* on the picture, and depth */
    float light;     /* of its side */
    float colour[3];
};

struct scene {
    struct vertex *vertices;
    struct triangle *triangles;
    float *depth;
    float *picture;                /* three numbers a point */
    uint32_t *first, *listed;      /* triangles by tile */
    uint32_t *pile, *expected;     /* tiles in the order of the pile, and the time that each should take */
    uint32_t *taken_by;            /* by place in the pile */
    size_t n, count, tiles;        /* tiles in a row */
};

struct plytrace {
    hn_barrier barrier;
    struct scene scene;
};

static float fraction(uint64_t noise) {
    return (float)(noise >> 40) * 0x1p-24f;
}

/* Triangles of a rough sphere and of splinters around it. */
static void make_vertices(struct scene s, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        float centre[3];
        for (unsigned d = 0; d < 3; d++)
            centre[d] = 2 * fraction(hn_mix(i * 16 + d)) - 1;
        float size = sqrtf(centre[0] * centre[0] + centre[1] * centre[1] + centre[2] * centre[2]) + 0.1f;
        for (unsigned k = 0; k < 3; k++)
            for (unsigned d = 0; d < 3; d++)
                s.vertices[3 * i + k].at[d] = centre[d] / size + 0.3f * (fraction(hn_mix(i * 16 + 3 + 3 * k + d)) - 0.5f);
    }
}

/* Turned, seen in perspective, and lit from the side. */
static void transform(struct scene s, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        struct triangle *t = &s.triangles[i];
        for (unsigned k = 0; k < 3; k++) {
            const struct vertex *v = &s.vertices[3 * i + k];
            float x = 0.8f * v->at[0] - 0.6f * v->at[2], z = 0.6f * v->at[0] + 0.8f * v->at[2] + 4;
            t->at[k][0] = ((float)s.n * 0.5f) * (1 + 2.6f * x / z);
            t->at[k][1] = ((float)s.n * 0.5f) * (1 + 2.6f * v->at[1] / z);
            t->at[k][2] = z;
        }
        t->light = 0.2f + 0.8f * fabsf(s.vertices[3 * i].at[0] - s.vertices[3 * i + 1].at[0]);
        for (unsigned d = 0; d < 3; d++)
            t->colour[d] = fraction(hn_mix(~(i * 4 + d)));
    }
}

/* Tiles from low to high that a triangle may touch in a direction; false: none. */
static bool span(const struct triangle *t, unsigned d, size_t tiles, size_t *low, size_t *high) {
    float least = fminf(t->at[0][d], fminf(t->at[1][d], t->at[2][d])), most = fmaxf(t->at[0][d], fmaxf(t->at[1][d], t->at[2][d]));
    if (most < 0 || least >= (float)(tiles * TILE))
        return false;
    *low = least > 0 ? (size_t)least / TILE : 0;
    *high = most < (float)(tiles * TILE) ? (size_t)most / TILE : tiles - 1;
    return true;
}

/* Goes through all triangles and tiles that they may touch; counts, or writes down. */
static void bucket(struct scene s, uint32_t *places, uint32_t *listed) {
    for (size_t i = 0; i < s.count; i++) {
        size_t left, right, top, bottom;
        if (!span(&s.triangles[i], 0, s.tiles, &left, &right) || !span(&s.triangles[i], 1, s.tiles, &top, &bottom))
            continue;
        for (size_t y = top; y <= bottom; y++)
            for (size_t x = left; x <= right; x++) {
                uint32_t place = places[y * s.tiles + x]++;
                if (listed)
                    listed[place] = (uint32_t)i;
            }
    }
}

/* Lists by tile, the pile in descending order of expected time, and who will be free for each. */
static void make_pile(struct scene s, unsigned threads) {
    size_t tiles = s.tiles * s.tiles;
    uint32_t sum = 0;
    for (size_t i = 0; i < tiles; i++)
        s.expected[i] = 0;
    bucket(s, s.expected, NULL);
    for (size_t i = 0; i < tiles; i++) {
        s.first[i] = sum;
        sum += s.expected[i];
        size_t j = i;
        for (; j > 0 && s.expected[s.pile[j - 1]] < s.expected[i]; j--)
            s.pile[j] = s.pile[j - 1];
        s.pile[j] = (uint32_t)i;
    }
    bucket(s, s.first, s.listed); /* moves each to the end of its list */
    for (size_t i = 0; i < tiles; i++)
        s.first[i] -= s.expected[i];
    uint64_t busy[HN_MAX_THREADS] = {0};
    for (size_t i = 0; i < tiles; i++) {
        unsigned free_first = 0;
        for (unsigned t = 1; t < threads; t++)
            free_first = busy[t] < busy[free_first] ? t : free_first;
        s.taken_by[i] = free_first;
        busy[free_first] += s.expected[s.pile[i]] + 1;
    }
}

static float edge(const float a[3], const float b[3], float x, float y) {
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

static void draw(struct scene s, const struct triangle *t, size_t left, size_t top) {
    for (size_t j = top; j < top + TILE; j++)
        for (size_t i = left; i < left + TILE; i++) {
            float x = (float)i + 0.5f, y = (float)j + 0.5f;
            float a = edge(t->at[1], t->at[2], x, y), b = edge(t->at[2], t->at[0], x, y), c = edge(t->at[0], t->at[1], x, y);
            if ((a < 0 || b < 0 || c < 0) && (a > 0 || b > 0 || c > 0))
                continue;
            float whole = a + b + c;
            float z = whole != 0 ? (a * t->at[0][2] + b * t->at[1][2] + c * t->at[2][2]) / whole : t->at[0][2];
            size_t point = j * s.n + i;
            if (z >= s.depth[point])
                continue;
            s.depth[point] = z;
            for (unsigned d = 0; d < 3; d++)
                s.picture[3 * point + d] = t->light * t->colour[d];
        }
}

static void render(struct scene s, size_t tile) {
    size_t left = tile % s.tiles * TILE, top = tile / s.tiles * TILE;
    for (size_t j = top; j < top + TILE; j++)
        for (size_t i = left; i < left + TILE; i++) {
            s.depth[j * s.n + i] = 1e30f;
            for (unsigned d = 0; d < 3; d++)
                s.picture[3 * (j * s.n + i) + d] = 0;
        }
    for (uint32_t k = s.first[tile]; k < s.first[tile] + s.expected[tile]; k++)
        draw(s, &s.triangles[s.listed[k]], left, top);
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct plytrace *all = shared;
    struct scene s = all->scene;
    thesis_begin(&all->barrier, t);
    size_t from = hn_part(s.count, t, threads), to = hn_part(s.count, t + 1, threads);
    make_vertices(s, from, to);
    hn_barrier_wait(&all->barrier);
    transform(s, from, to);
    hn_barrier_wait(&all->barrier);
    if (t == 0)
        make_pile(s, threads);
    hn_barrier_wait(&all->barrier);
    for (size_t i = 0; i < s.tiles * s.tiles; i++)
        if (s.taken_by[i] == t)
            render(s, s.pile[i]);
    thesis_end(&all->barrier, t);
}

static void make_scene(struct scene *s, size_t n, size_t count) {
    size_t tiles = n / TILE;
    s->n = n;
    s->count = count;
    s->tiles = tiles;
    s->vertices = thesis_alloc("vertices", 3 * count * sizeof(struct vertex));
    s->triangles = thesis_alloc("triangles", count * sizeof(struct triangle));
    s->depth = thesis_alloc("depth", n * n * sizeof(float));
    s->picture = thesis_alloc("picture", 3 * n * n * sizeof(float));
    s->first = thesis_alloc("first", tiles * tiles * sizeof(uint32_t));
    s->listed = thesis_alloc("listed", tiles * tiles * count * sizeof(uint32_t));
    s->pile = thesis_alloc("pile", tiles * tiles * sizeof(uint32_t));
    s->expected = thesis_alloc("expected", tiles * tiles * sizeof(uint32_t));
    s->taken_by = thesis_alloc("taken by", tiles * tiles * sizeof(uint32_t));
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static bool verify(const struct scene *s, struct scene *again, uint64_t *checksum) {
    bool ok = true, seen = false;
    make_scene(again, s->n, s->count);
    make_vertices(*again, 0, s->count);
    transform(*again, 0, s->count);
    make_pile(*again, 1);
    for (size_t i = 0; i < again->tiles * again->tiles; i++)
        render(*again, i);
    *checksum = 0;
    for (size_t i = 0; i < 3 * s->n * s->n; i++) {
        uint32_t found = bits_of(s->picture[i]);
        ok = ok && found == bits_of(again->picture[i]);
        seen = seen || found != 0;
        *checksum = thesis_sum(*checksum, found);
    }
    return ok && seen;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n % TILE || o.n > 1280 || o.more > 100000)
        hn_misuse(&program, "a multiple of 20 up to 1280, at most 100000 triangles");
    struct plytrace *all = thesis_control("plytrace", sizeof *all);
    struct scene *s = &all->scene, again;
    make_scene(s, o.n, o.more);
    hn_barrier_init(&all->barrier, o.threads);
    hn_run(o.threads, work, all);
    if (HN_DAMAGE)
        s->picture[0] += 0.5f;
    uint64_t checksum;
    bool ok = verify(s, &again, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
