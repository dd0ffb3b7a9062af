/* Reading a plan. Strict: a plan of which one line makes no sense is not applied at all. */
#include <sys/mman.h>

#include "../os.h"
#include "plan.h"

struct cursor {
    const char *at, *end; /* of the line */
};

/* ---- words ------------------------------------------------------------------------------------------------------- */

struct word {
    const char *at;
    size_t bytes;
};

static struct word next_word(struct cursor *c) {
    while (c->at < c->end && *c->at == ' ')
        c->at++;
    struct word w = {c->at, 0};
    while (c->at < c->end && *c->at != ' ')
        c->at++, w.bytes++;
    return w;
}

static bool is(struct word w, const char *text) {
    size_t i = 0;
    while (i < w.bytes && text[i] && text[i] == w.at[i])
        i++;
    return i == w.bytes && !text[i];
}

static bool decimal(struct word w, uint64_t most, uint64_t *out) {
    uint64_t n = 0;
    if (!w.bytes || w.bytes > 20)
        return false;
    for (size_t i = 0; i < w.bytes; i++) {
        unsigned digit = (unsigned)(w.at[i] - '0');
        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return n <= most;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static bool hexadecimal(struct word w, size_t least, uint64_t *out) {
    *out = 0;
    if (w.bytes < least || !w.bytes || w.bytes > 16)
        return false;
    for (size_t i = 0; i < w.bytes; i++) {
        int digit = hex_digit(w.at[i]);
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return true;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/* Hash of the bytes that the hexadecimal digits stand for, as in modules.c. */
static const char *read_build(struct cursor *c, struct hnag_item *item) {
    struct word w = next_word(c);
    if (w.bytes < 2 || w.bytes > 128 || w.bytes % 2)
        return "a build id is 2 to 128 hexadecimal digits";
    item->build = HNAG_FNV_BASIS;
    for (size_t i = 0; i < w.bytes; i += 2) {
        int high = hex_digit(w.at[i]), low = hex_digit(w.at[i + 1]);
        if (high < 0 || low < 0)
            return "a build id is 2 to 128 hexadecimal digits";
        item->build = hnag_fnv(item->build, (uint64_t)(high << 4 | low), 1);
    }
    return NULL;
}

static const char *read_path(struct cursor *c, struct hnag_item *item) {
    static const char wrong[] = "a thread path is '-' or numbers with dots between them";
    struct word w = next_word(c), part = {w.at, 0};
    item->path = HNAG_PATH_INITIAL;
    if (is(w, "-"))
        return NULL;
    for (size_t i = 0; i <= w.bytes; i++) {
        if (i < w.bytes && w.at[i] != '.')
            continue;
        uint64_t number;
        part.bytes = (size_t)(w.at + i - part.at);
        if (!decimal(part, UINT32_MAX, &number))
            return wrong;
        item->path = hnag_fnv(item->path, number, 4);
        part.at = w.at + i + 1;
    }
    return NULL;
}

/* The build has been read. */
static const char *read_finder(struct cursor *c, struct hnag_item *item) {
    struct word w = next_word(c), address = {w.at + 1, w.bytes - 1};
    if (is(w, "*")) {
        item->by = BY_SIZE;
        return NULL;
    }
    if (w.bytes > 1 && w.at[0] == '@' && hexadecimal(address, 1, &item->hash)) {
        item->by = BY_SITE;
        item->hash = hnag_fnv(item->build, item->hash, 8);
        hnag_plan.sites = true;
        return NULL;
    }
    hnag_plan.hashes = true;
    bool good = w.bytes == 16 && hexadecimal(w, 16, &item->hash);
    return good ? NULL : "a stack hash is 16 hexadecimal digits, a site '@' and an address, any of a size '*'";
}

static const char *read_number(struct cursor *c, uint64_t least, uint64_t most, uint64_t *out, const char *wrong) {
    return decimal(next_word(c), most, out) && *out >= least ? NULL : wrong;
}

/* ---- homes ------------------------------------------------------------------------------------------------------- */

static const char *keep_home(const struct hnag_home *wanted, uint32_t *out) {
    enum { MOST = 4096 };
    for (uint32_t i = 0; i < hnag_plan.home_count; i++) {
        const struct hnag_home *h = &hnag_plan.homes[i];
        bool equal = h->interleave == wanted->interleave;
        for (unsigned j = 0; j < HNAG_NODES / 64; j++)
            equal &= h->nodes[j] == wanted->nodes[j];
        if (equal) {
            *out = i;
            return NULL;
        }
    }
    if (hnag_plan.home_count == MOST)
        return "more than 4096 different homes";
    *out = hnag_plan.home_count;
    hnag_plan.homes[hnag_plan.home_count++] = *wanted;
    return NULL;
}

static const char *read_node(struct cursor *c, uint32_t *home) {
    struct hnag_home h = {0};
    uint64_t node;
    if (!decimal(next_word(c), HNAG_NODES - 1, &node))
        return "a node is a number below 1024";
    h.nodes[node / 64] |= UINT64_C(1) << node % 64;
    return keep_home(&h, home);
}

static const char *read_home(struct cursor *c, uint32_t *home) {
    static const char wrong[] = "a home is n and a node (n3), or i and different nodes (i0,1,2), all below 1024";
    struct word w = next_word(c), part = {w.at + 1, 0};
    struct hnag_home h = {.interleave = w.bytes && w.at[0] == 'i'};
    if (w.bytes < 2 || (w.at[0] != 'n' && w.at[0] != 'i'))
        return wrong;
    for (size_t i = 1; i <= w.bytes; i++) {
        if (i < w.bytes && !(h.interleave && w.at[i] == ','))
            continue;
        uint64_t node;
        part.bytes = (size_t)(w.at + i - part.at);
        if (!decimal(part, HNAG_NODES - 1, &node) || h.nodes[node / 64] >> node % 64 & 1)
            return wrong;
        h.nodes[node / 64] |= UINT64_C(1) << node % 64;
        part.at = w.at + i + 1;
    }
    return keep_home(&h, home);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

#define BYTES_MOST (UINT64_C(1) << 47)
#define TRY(expression)                                                                                               \
    do {                                                                                                              \
        const char *wrong_ = (expression);                                                                            \
        if (wrong_)                                                                                                   \
            return wrong_;                                                                                            \
    } while (0)

static const char *read_pin(struct cursor *c, struct hnag_item *item) {
    uint64_t cpu = 0;
    TRY(read_path(c, item));
    TRY(read_number(c, 0, 8191, &cpu, "a processor is a number below 8192"));
    item->cpu = (uint32_t)cpu;
    return NULL;
}

static const char *read_static(struct cursor *c, struct hnag_item *item) {
    TRY(read_build(c, item));
    if (!hexadecimal(next_word(c), 1, &item->offset) || item->offset >= BYTES_MOST)
        return "an address is 1 to 12 hexadecimal digits";
    TRY(read_number(c, 1, BYTES_MOST, &item->bytes, "bytes: a number from 1"));
    return read_home(c, &item->home);
}

static const char *read_heap(struct cursor *c, struct hnag_item *item) {
    TRY(read_build(c, item));
    TRY(read_finder(c, item));
    TRY(read_path(c, item));
    TRY(read_number(c, 0, BYTES_MOST, &item->ordinal, "an ordinal is a number"));
    TRY(read_number(c, 1, BYTES_MOST, &item->size, "a size is a number from 1"));
    TRY(read_number(c, 0, item->size - 1, &item->offset, "an offset is a number below the size"));
    TRY(read_number(c, 1, item->size - item->offset, &item->bytes, "bytes: a number from 1 within the object"));
    return read_home(c, &item->home);
}

static const char *read_stack_line(struct cursor *c, struct hnag_item *item) {
    TRY(read_path(c, item));
    return read_node(c, &item->home);
}

static const char *read_line(struct cursor *c, struct hnag_item *item) {
    static const struct {
        const char *name;
        uint8_t kind;
        const char *(*read)(struct cursor *, struct hnag_item *);
    } lines[] = {{"pin", KIND_PIN, read_pin},
                 {"stack", KIND_STACK, read_stack_line},
                 {"static", KIND_STATIC, read_static},
                 {"heap", KIND_HEAP, read_heap}};
    struct word name = next_word(c);
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++)
        if (is(name, lines[i].name)) {
            item->kind = lines[i].kind;
            TRY(lines[i].read(c, item));
            return next_word(c).bytes ? "something follows the last field" : NULL;
        }
    return "a line begins with pin, stack, static, heap or end";
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool memory_for(uint64_t lines) {
    uint64_t items = lines * sizeof(struct hnag_item), homes = 4096 * sizeof(struct hnag_home);
    uint64_t groups = lines * sizeof(struct hnag_group);
    long at = os(SYS_mmap, 0, items + homes + groups, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (os_failed(at))
        return false;
    hnag_plan.items = (struct hnag_item *)at;
    hnag_plan.homes = (struct hnag_home *)(at + (long)items);
    hnag_plan.groups = (struct hnag_group *)(at + (long)(items + homes));
    return true;
}

static struct cursor take_line(const char **at, const char *end) {
    struct cursor c = {*at, *at};
    while (c.end < end && *c.end != '\n')
        c.end++;
    *at = c.end < end ? c.end + 1 : end;
    return c;
}

/* Version, build of the executable that the plan is for ('-': any), whether its arguments are those of the recording. */
static const char *read_first_line(struct cursor c) {
    struct word name = next_word(&c), version = next_word(&c);
    if (!is(name, "homenode-agent-plan") || !is(version, "2"))
        return "the first line does not begin with 'homenode-agent-plan 2'";
    struct cursor program = c;
    struct hnag_item item = {0};
    if (!is(next_word(&c), "-"))
        TRY(read_build(&program, &item));
    hnag_plan.program = item.build;
    struct word sizes = next_word(&c);
    hnag_plan.other_sizes = is(sizes, "other");
    if (!hnag_plan.other_sizes && !is(sizes, "same"))
        return "sizes are 'same' or 'other'";
    return next_word(&c).bytes ? "something follows the last field" : NULL;
}

static bool is_end(struct cursor c) {
    return is(next_word(&c), "end") && !next_word(&c).bytes;
}

const char *hnag_plan_parse(const char *text, uint64_t bytes, uint32_t *line) {
    const char *at = text, *end = text + bytes;
    uint64_t lines = 1;
    for (uint64_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    *line = 1;
    if (lines > 10000000 || !memory_for(lines))
        return "too long";
    TRY(read_first_line(take_line(&at, end)));
    while (at < end) {
        struct cursor c = take_line(&at, end);
        ++*line;
        if (is_end(c))
            return at < end ? "something follows 'end'" : NULL;
        struct hnag_item *item = &hnag_plan.items[hnag_plan.count];
        TRY(read_line(&c, item));
        item->line = *line;
        hnag_plan.count++;
    }
    ++*line;
    return "there is no 'end'";
}
