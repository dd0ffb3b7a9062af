/* Chains in loops, of which tests/dependence.rs knows whether they begin anew in each round of the loop around theirs. */
#include <stddef.h>

struct entry { long key, more; struct entry *next; };
struct list { struct list *next; struct entry *first; };
struct place { struct entry *at; };

long join(struct entry **heads, const long *keys, long n) {
    long found = 0;
    for (long i = 0; i < n; i++) {
        struct entry **head = &heads[keys[i] & 1023];
        for (struct entry *e = *head; e; e = e->next) // join: anew
            found += e->key == keys[i];
    }
    return found;
}

long search(struct entry *root, const long *keys, long n) {
    long found = 0;
    for (long i = 0; i < n; i++)
        for (struct entry *e = root; e && keys[i] > 0; e = e->next) // search: anew
            found += 1;
    return found;
}

long lists(struct list *l) {
    long found = 0;
    for (; l; l = l->next)                              // list of lists: kept
        for (struct entry *e = l->first; e; e = e->next) // lists in a list: anew
            found += 1;
    return found;
}

long pieces(struct entry *e, long n) {
    long found = 0;
    for (long i = 0; i < n; i++) {
        for (long k = 0; k < 8; k++)
            e = e->next; // one chain in pieces: kept
        found++;
    }
    return found + e->key;
}

void walk(struct place *c, const long *steps, long n) {
    for (long i = 0; i < n; i++)
        for (long k = 0; k < steps[i]; k++)
            c->at = c->at->next; // a chain in memory: kept
}

long alone(struct entry *e) {
    long found = 0;
    for (; e; e = e->next) // a chain in no other loop: kept
        found++;
    return found;
}

int main(int argc, char **argv) {
    (void)argv;
    struct entry e = {argc, 0, NULL}, *p = &e;
    struct list l = {NULL, p};
    struct place c = {p};
    long keys[1] = {argc}, none[1] = {0};
    walk(&c, none, 1);
    return join(&p, keys, 0) + search(p, keys, 1) + lists(&l) + pieces(p, 0) + alone(p) == 42;
}
