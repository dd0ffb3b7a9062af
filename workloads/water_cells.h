/* The part of water.c that HN_SPATIAL=1 is about: the periodic box as cells, after the spatial WATER of SPLASH-2 (Woo and others
 * 1995). Cells are wider than the cutoff, so what acts on a molecule is in its own cell or in one beside it. A thread has cells in a
 * row, finds the forces on the molecules in them and writes no others; a pair of molecules of two threads is computed by both. A
 * molecule that leaves a cell goes to the list of another one, under that cell's lock.
 *
 * The self-check, besides that of water.c: the last forces are those that come of all molecules, whatever their cells; each lies in
 * the cell where it is. */
#ifndef WATER_CELLS_H
#define WATER_CELLS_H

#define MEMBERS 222u     /* that a cell has room for: one holds at most 64 in the beginning */
#define ROUNDING 1e-6    /* by which a cell is wider than the cutoff */

/* A quarter of a page. */
struct cell {
    hn_lock lock; /* taken to put molecules in */
    uint32_t count, members[MEMBERS];
};

/* Cells of a thread, and molecules that have left them and are in no other one yet. */
struct cells {
    size_t from, to;
    struct leaver {
        uint32_t molecule;
        size_t cell;
    } *leavers;
    size_t count;
};

/* Cells along an edge of the box. */
static size_t cells_along(double box) {
    size_t cells = (size_t)(box / (CUTOFF + ROUNDING));
    return cells > 1 ? cells : 1;
}

static size_t cells_of(const struct water *s) {
    return s->along * s->along * s->along;
}

/* The cell where the molecule's oxygen is. The first begins half a spacing before the lattice, so that borders lie between molecules. */
static size_t cell_at(const struct water *s, const struct molecule *m) {
    size_t cell = 0;
    for (unsigned d = 3; d-- > 0;) {
        double x = (m->at[0][d] + 0.5 * SPACING) / s->box;
        size_t place = (size_t)((x - floor(x)) * (double)s->along);
        cell = cell * s->along + (place < s->along ? place : s->along - 1);
    }
    return cell;
}

static void put(struct water *s, size_t cell, uint32_t molecule) {
    struct cell *c = &s->cells[cell];
    if (c->count == MEMBERS)
        hn_die("more molecules in a cell than fit", ENOSPC);
    c->members[c->count++] = molecule;
}

/* Finds the thread's cells and fills them; all molecules are there. */
static struct cells fill_cells(struct water *s, unsigned t, unsigned threads) {
    size_t all = cells_of(s);
    struct cells mine = {hn_part(all, t, threads), hn_part(all, t + 1, threads), malloc(s->n * sizeof *mine.leavers), 0};
    if (!mine.leavers)
        hn_die("molecules that leave", ENOMEM);
    for (size_t c = mine.from; c < mine.to; c++) {
        hn_lock_init(&s->cells[c].lock);
        s->cells[c].count = 0;
    }
    for (size_t i = 0; i < s->n; i++) {
        size_t cell = cell_at(s, &s->molecules[i]);
        if (cell >= mine.from && cell < mine.to)
            put(s, cell, (uint32_t)i);
    }
    return mine;
}

/* A cell and those around it, each once; returns how many. */
static unsigned around(const struct water *s, size_t cell, size_t found[27]) {
    size_t along = s->along, first = along > 2 ? along - 1 : 0, steps = along > 2 ? 3 : along;
    size_t x = cell % along, y = cell / along % along, z = cell / along / along;
    unsigned count = 0;
    for (size_t c = 0; c < steps; c++)
        for (size_t b = 0; b < steps; b++)
            for (size_t a = 0; a < steps; a++)
                found[count++] = ((z + first + c) % along * along + (y + first + b) % along) * along + (x + first + a) % along;
    return count;
}

/* Whether j is in the half of the others that follows i: of each pair one follows the other, as in half_shell, so rounding is
 * the same in all variants. */
static bool follows(const struct water *s, size_t i, size_t j) {
    size_t ahead = j > i ? j - i : j + s->n - i, half = s->n % 2 || i < s->n / 2 ? s->n / 2 : s->n / 2 - 1;
    return ahead <= half;
}

/* Adds what acts between molecules i and j, which follows i; returns the energy. */
static int64_t act(const struct water *s, size_t i, size_t j, int64_t on_i[SITES][3], int64_t on_j[SITES][3]) {
    const struct molecule *a = &s->molecules[i], *b = &s->molecules[j];
    double way[3], square = nearest(s, a, b, way);
    return square < CUTOFF * CUTOFF ? (int64_t)(interact(a, b, way, square, on_i, on_j) * ONE) : 0;
}

/* Adds to the force on molecule i, and to that on j if that is the thread's own, too, what they do to each other. Called for both
 * orders of a pair of the thread's own; does it in one. Returns the energy in the order in which j follows. */
static int64_t meet(struct water *s, size_t i, size_t j, bool is_own) {
    int64_t others[SITES][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    if (follows(s, i, j))
        return act(s, i, j, s->molecules[i].force, is_own ? s->molecules[j].force : others);
    if (!is_own)
        act(s, j, i, others, s->molecules[i].force);
    return 0;
}

/* Forces where the molecules are now, which must be zero before; ends with a barrier. */
static int64_t find_cell_forces(struct water *s, struct part *part, const struct cells *mine) {
    int64_t energy = 0;
    for (size_t c = mine->from; c < mine->to; c++) {
        const struct cell *cell = &s->cells[c];
        size_t beside[27];
        unsigned count = around(s, c, beside);
        part->met += cell->count;
        for (uint32_t a = 0; a < cell->count; a++) {
            struct molecule *m = &s->molecules[cell->members[a]];
            energy += (int64_t)(bend(m, m->force) * ONE);
        }
        for (unsigned k = 0; k < count; k++) {
            const struct cell *other = &s->cells[beside[k]];
            bool is_own = beside[k] >= mine->from && beside[k] < mine->to;
            for (uint32_t a = 0; a < cell->count; a++)
                for (uint32_t b = 0; b < other->count; b++)
                    if (cell->members[a] != other->members[b])
                        energy += meet(s, cell->members[a], other->members[b], is_own);
        }
    }
    hn_barrier_wait(&s->barrier);
    return energy;
}

/* Moves the thread's molecules, and takes those out of their lists that have left their cells. */
static void move_molecules(struct water *s, struct cells *mine) {
    mine->count = 0;
    for (size_t c = mine->from; c < mine->to; c++) {
        struct cell *cell = &s->cells[c];
        for (uint32_t k = 0; k < cell->count;) {
            uint32_t i = cell->members[k];
            push(&s->molecules[i]);
            drift(&s->molecules[i]);
            size_t now = cell_at(s, &s->molecules[i]);
            if (now == c) {
                k++;
                continue;
            }
            mine->leavers[mine->count++] = (struct leaver){i, now};
            cell->members[k] = cell->members[--cell->count];
        }
    }
    hn_barrier_wait(&s->barrier);
}

/* Puts what has left into other cells' lists. */
static void settle(struct water *s, const struct cells *mine) {
    for (size_t k = 0; k < mine->count; k++) {
        const struct leaver *l = &mine->leavers[k];
        hn_lock_acquire(&s->cells[l->cell].lock);
        put(s, l->cell, l->molecule);
        hn_lock_release(&s->cells[l->cell].lock);
    }
    hn_barrier_wait(&s->barrier);
}

static int64_t kinetic_of_cells(const struct water *s, const struct cells *mine) {
    int64_t energy = 0;
    for (size_t c = mine->from; c < mine->to; c++)
        for (uint32_t k = 0; k < s->cells[c].count; k++)
            energy += kinetic(s, s->cells[c].members[k], s->cells[c].members[k] + (size_t)1);
    return energy;
}

static void simulate_cells(struct water *s, struct part *part, struct cells *mine) {
    part->kinetic[0] = kinetic_of_cells(s, mine);
    part->potential[0] = find_cell_forces(s, part, mine);
    for (size_t step = 0; step < s->steps; step++) {
        move_molecules(s, mine);
        settle(s, mine);
        part->potential[1] = find_cell_forces(s, part, mine);
        for (size_t c = mine->from; c < mine->to; c++)
            for (uint32_t k = 0; k < s->cells[c].count; k++)
                push(&s->molecules[s->cells[c].members[k]]);
    }
}

/* Whether the force on a molecule is what comes of all others. */
static bool is_force(const struct water *s, size_t i) {
    int64_t sum[SITES][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, others[SITES][3];
    memset(others, 0, sizeof others);
    bend(&s->molecules[i], sum);
    for (size_t j = 0; j < s->n; j++) {
        if (j != i && follows(s, i, j))
            act(s, i, j, sum, others);
        else if (j != i)
            act(s, j, i, others, sum);
    }
    return !memcmp(sum, s->molecules[i].force, sizeof sum);
}

/* Looks at the molecules in the thread's cells. */
static void verify_cells(struct water *s, struct part *part, struct cells *mine) {
    uint64_t checksum = 0;
    bool ok = true;
    part->kinetic[1] = kinetic_of_cells(s, mine);
    for (size_t c = mine->from; c < mine->to; c++)
        for (uint32_t k = 0; k < s->cells[c].count; k++) {
            size_t i = s->cells[c].members[k];
            ok = look_at(&s->molecules[i], i, ok, part, &checksum) && is_force(s, i) && cell_at(s, &s->molecules[i]) == c;
        }
    part->verdict.ok = ok;
    part->verdict.checksum = checksum;
    free(mine->leavers);
}

#endif
