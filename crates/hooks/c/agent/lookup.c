/* Finding the functions behind ours by reading the symbol tables of the modules that come after us. dlsym would do,
 * were it not for programs with a dlsym of their own and for libraries that are loaded later and locally. */
#include <elf.h>
#include <link.h>

#include "real.h"
#include "agent.h"

struct hnrt_real hnrt_real;
bool hnrt_resolving;

struct tables {
    const ElfW(Sym) *symbols;
    const char *names;
    const uint32_t *gnu, *sysv;
    const ElfW(Half) *versions;
};

struct wanted {
    const char *name;
    uint32_t hash;
    bool behind; /* only modules behind us count, from now on */
    void *found;
};

static const void *absolute(const struct dl_phdr_info *info, ElfW(Addr) at) {
    return (const void *)(at < info->dlpi_addr ? at + info->dlpi_addr : at);
}

static void read_entry(struct tables *t, const struct dl_phdr_info *info, const ElfW(Dyn) *d) {
    const void *at = absolute(info, d->d_un.d_ptr);
    switch (d->d_tag) {
    case DT_SYMTAB: t->symbols = at; break;
    case DT_STRTAB: t->names = at; break;
    case DT_GNU_HASH: t->gnu = at; break;
    case DT_HASH: t->sysv = at; break;
    case DT_VERSYM: t->versions = at; break;
    default: break;
    }
}

static struct tables tables_of(const struct dl_phdr_info *info) {
    struct tables t = {0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; d->d_tag != DT_NULL; d++)
            read_entry(&t, info, d);
    }
    return t;
}

static bool same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static bool fits(const struct tables *t, uint32_t i, const char *name) {
    const ElfW(Sym) *s = &t->symbols[i];
    bool hidden = t->versions && (t->versions[i] & 0x8000);
    return s->st_shndx != SHN_UNDEF && s->st_value && !hidden && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
           same(t->names + s->st_name, name);
}

/* Index of the symbol, or 0. */
static uint32_t by_gnu_hash(const struct tables *t, const struct wanted *w) {
    uint32_t buckets = t->gnu[0], first = t->gnu[1], words = t->gnu[2];
    const uint32_t *bucket = t->gnu + 4 + words * (sizeof(ElfW(Addr)) / 4), *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[w->hash % buckets] : 0;
    for (; i >= first && i; i++) {
        if ((chain[i - first] | 1) == (w->hash | 1) && fits(t, i, w->name))
            return i;
        if (chain[i - first] & 1)
            break;
    }
    return 0;
}

static uint32_t by_walking(const struct tables *t, const struct wanted *w) {
    for (uint32_t i = 1; i < t->sysv[1]; i++)
        if (fits(t, i, w->name))
            return i;
    return 0;
}

static bool is_ours(const struct dl_phdr_info *info) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (uintptr_t)&hnrt_real - info->dlpi_addr - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}

static int look_in(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    struct wanted *w = context;
    if (!w->behind) {
        w->behind = is_ours(info);
        return 0;
    }
    struct tables t = tables_of(info);
    if (!t.symbols || !t.names || !(t.gnu || t.sysv))
        return 0;
    uint32_t i = t.gnu ? by_gnu_hash(&t, w) : by_walking(&t, w);
    if (!i)
        return 0;
    w->found = (void *)(info->dlpi_addr + t.symbols[i].st_value);
    return 1;
}

static void *search(const char *name, bool anywhere) {
    struct wanted w = {.name = name, .hash = 5381, .behind = anywhere};
    for (const char *c = name; *c; c++)
        w.hash = w.hash * 33 + (uint8_t)*c;
    dl_iterate_phdr(look_in, &w);
    return w.found;
}

/* The definition of a function in the first module after us that has one (default version), or NULL. */
static void *find(const char *name) {
    return search(name, false);
}

/* The definition in the first module of all. */
void *hnag_first(const char *name) {
    return search(name, true);
}

/* A module that calls that function of another one and cannot do without it. The undefined symbols come first. */
static int look_for_user(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    struct wanted *w = context;
    struct tables t = tables_of(info);
    uint32_t end = t.gnu ? t.gnu[1] : t.sysv ? t.sysv[1] : 0;
    for (uint32_t i = 1; t.symbols && t.names && i < end && !w->found; i++) {
        const ElfW(Sym) *s = &t.symbols[i];
        if (s->st_shndx == SHN_UNDEF && ELF64_ST_BIND(s->st_info) == STB_GLOBAL && same(t.names + s->st_name, w->name))
            w->found = (void *)s;
    }
    return w->found != NULL;
}

bool hnag_is_called(const char *name) {
    struct wanted w = {.name = name};
    dl_iterate_phdr(look_for_user, &w);
    return w.found != NULL;
}

#define HN_REAL_FIND(name, type, arguments)                                                                           \
    if (!hnrt_real.name)                                                                                              \
        hnrt_real.name = (type(*) arguments)find(#name);

/* Fills what is missing: operator new, for one, may come with a library that is loaded later. */
void hnrt_real_resolve(void) {
    HN_REAL(HN_REAL_FIND)
}
