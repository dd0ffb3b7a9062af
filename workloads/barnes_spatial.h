/* The part of barnes.c that HN_SPATIAL=1 is about: bodies follow pieces of space with about as many in each (after Jiang, Shan and Singh
 * 1997). The cube is cut in 4096 cells along Morton's curve; a thread has cells in a row, and the records of the bodies in them lie
 * together. It builds the trees of whole cubes that are its own, and takes no lock; worker 0 links them by nodes of cubes that
 * several threads have a part of. */
#ifndef BARNES_SPATIAL_H
#define BARNES_SPATIAL_H

#define CELLS 4096u
#define CELLS_OF_CUBE (CELLS / CUBES)

/* The cells as all threads see them: whose each is, where its bodies begin. */
struct cells {
    uint16_t owners[CELLS];
    uint32_t starts[CELLS + 1];
};

static uint16_t cell_of(struct cube c, const double at[3]) {
    unsigned cell = 0;
    for (unsigned cells = 1; cells < CELLS; cells *= 8) {
        unsigned o = octant(&c, at);
        cell = 8 * cell + o;
        c = eighth(&c, o);
    }
    return (uint16_t)cell;
}

/* Who has which cell, from the cells of all bodies: a cell's middle body decides. */
static void share_out(const struct barnes *s, unsigned threads, struct cells *cells) {
    memset(cells->starts, 0, sizeof cells->starts);
    for (size_t i = 0; i < s->n; i++)
        cells->starts[s->cells[i] + 1]++;
    for (unsigned c = 0; c < CELLS; c++) {
        uint64_t middle = cells->starts[c] + cells->starts[c + 1] / 2, owner = middle * threads / s->n;
        cells->owners[c] = (uint16_t)(owner < threads ? owner : threads - 1);
        cells->starts[c + 1] += cells->starts[c];
    }
}

/* Records of the thread's bodies move to where its cells' begin, over another array: a barrier lies between reading and writing. */
static void move_in(struct barnes *s, unsigned t, const struct cells *cells) {
    struct part *part = &s->parts[t];
    uint32_t next[CELLS];
    unsigned from = 0, to = CELLS;
    while (from < CELLS && cells->owners[from] < t)
        from++;
    while (to > from && cells->owners[to - 1] > t)
        to--;
    part->from = cells->starts[from];
    part->to = cells->starts[to];
    memcpy(next + from, cells->starts + from, (to - from) * sizeof next[0]);
    for (size_t i = 0; i < s->n; i++) {
        unsigned c = s->cells[i];
        if (from <= c && c < to)
            s->moving[next[c]++] = s->bodies[i];
    }
    hn_barrier_wait(&s->barrier);
    memcpy(s->bodies + part->from, s->moving + part->from, (part->to - part->from) * sizeof s->bodies[0]);
}

/* The trees of the largest cubes in this one, of so many cells, that are all the thread's. */
static void grow_own(struct barnes *s, unsigned t, const struct cells *cells, unsigned cell, unsigned span, struct cube cube) {
    unsigned first = cells->owners[cell], last = cells->owners[cell + span - 1];
    if (t < first || last < t)
        return;
    if (first < last) {
        for (unsigned o = 0; o < 8; o++)
            grow_own(s, t, cells, cell + o * span / 8, span / 8, eighth(&cube, o));
        return;
    }
    uint32_t name = NOTHING;
    for (uint32_t b = cells->starts[cell]; b < cells->starts[cell + span]; b++)
        name = insert(s, &s->parts[t], name, b, cube);
    weigh_branch(s, name);
    s->links[cell] = name;
}

/* The tree of this cube, a branch or within one. A lone body is its own tree, as where one thread builds. */
static uint32_t link_up(struct barnes *s, const struct cells *cells, unsigned cell, unsigned span, uint32_t *used) {
    if (cells->owners[cell] == cells->owners[cell + span - 1])
        return s->links[cell];
    uint32_t name = (*used)++, lone = NOTHING;
    unsigned count = 0;
    for (unsigned o = 0; o < 8; o++) {
        uint32_t child = link_up(s, cells, cell + o * span / 8, span / 8, used);
        s->nodes[name].children[o] = child;
        if (child != NOTHING) {
            lone = child;
            count++;
        }
    }
    if (count == 0 || (count == 1 && lone & IS_BODY))
        return lone;
    weigh(s, &s->nodes[name]);
    return name;
}

static void link_all(struct barnes *s, const struct cells *cells) {
    uint32_t used = 9;
    for (unsigned c = 0; c < CUBES; c++)
        s->branches[c] = link_up(s, cells, c * CELLS_OF_CUBE, CELLS_OF_CUBE, &used);
    join(s);
}

static void begin_building(const struct barnes *s) {
    (void)s;
}

static void end_building(void) {
}

static void build(struct barnes *s, const struct cube *all, unsigned t, unsigned threads, size_t from, size_t to) {
    struct part *part = &s->parts[t];
    struct cells cells;
    for (size_t i = from; i < to; i++)
        s->cells[i] = cell_of(*all, s->bodies[i].at);
    hn_barrier_wait(&s->barrier);
    share_out(s, threads, &cells);
    move_in(s, t, &cells);
    part->next = (uint32_t)(TOP + 2 * part->from + t * CHUNK);
    part->end = (uint32_t)(TOP + 2 * part->to + (t + 1) * CHUNK);
    for (unsigned c = 0; c < CUBES; c++) {
        struct cube e = eighth(all, c / 8);
        grow_own(s, t, &cells, c * CELLS_OF_CUBE, CELLS_OF_CUBE, eighth(&e, c % 8));
    }
    hn_barrier_wait(&s->barrier);
    if (t == 0)
        link_all(s, &cells);
    hn_barrier_wait(&s->barrier);
}

#endif
