/* Loops whose dependences are known by construction. A comment says which site stands on its line, and what is right for it. */
#include <stdlib.h>

struct node {
    struct node *next;
    long payload;
    char filler[112];
    long far;
    long *data;
};
struct tree {
    long key;
    struct tree *child[2];
};
struct entry {
    long key, value;
    struct entry *next;
};
long chain_of_all[4096], payload_of_all[4096];

long chase_index(const long *chain, long rounds) {
    long x = 0;
    for (long i = 0; i < rounds; i++)
        x = chain[x]; // chase: x = chain[x]: carried
    return x;
}

long chase_two_arrays(const int *chain, const long *payload, int rounds) {
    int x = 0;
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
        sum += payload[x]; // chase: payload[x]: independent
        x = chain[x];      // chase: x = chain[x], int: carried
    }
    return sum;
}

long chase_static_arrays(long rounds) {
    long x = 0, sum = 0;
    for (long i = 0; i < rounds; i++) {
        sum += payload_of_all[x]; // chase: payload[x], static arrays: independent
        x = chain_of_all[x];      // chase: x = chain[x], static arrays: carried
    }
    return sum;
}

long list_length(const struct node *p) {
    long n = 0;
    for (; p; n++)
        p = p->next; // list: p = p->next: carried
    return n;
}

long list_sum(const struct node *p) {
    long sum = 0;
    while (p) {
        sum += p->payload; // list: p->payload, same line: carried
        p = p->next;       // list: p = p->next beside it: carried
    }
    return sum;
}

long list_far(const struct node *p) {
    long sum = 0;
    while (p) {
        sum += p->far; // list: p->far, another line: independent
        p = p->next;   // list: p = p->next beside far: carried
    }
    return sum;
}

long list_of_pointers(const struct node *p) {
    long sum = 0;
    while (p) {
        long *data = p->data;
        sum += *data; // list: *p->data: independent
        p = p->next;  // list: p = p->next beside data: carried
    }
    return sum;
}

struct tree *search_tree(struct tree *t, long key) {
    while (t) {
        if (t->key == key) // tree: t->key: carried
            break;
        t = t->child[t->key < key]; // tree: t = t->child[k]: carried
    }
    return t;
}

long hash_join(struct entry *const *buckets, long mask, const long *keys, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++) {
        long key = keys[i];                                          // join: keys[i]: independent
        struct entry *e = buckets[key * 0x9e3779b97f4a7c15ul & mask]; // join: bucket: independent
        while (e) {
            if (e->key == key) // join: e->key: carried
                sum++;
            e = e->next; // join: e = e->next: carried
        }
    }
    return sum;
}

void histogram(unsigned *counts, const unsigned char *keys, long n) {
    for (long i = 0; i < n; i++)
        counts[keys[i]]++; // histogram: counts[keys[i]]++: independent
}

long gather(const long *a, const int *index, long n) {
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += a[index[i]]; // gather: a[index[i]]: independent
    return sum;
}

void stream(double *a, const double *b, const double *c, long n) {
    for (long i = 0; i < n; i++)
        a[i] = b[i] + 3 * c[i]; // stream: a[i] = b[i] + 3 * c[i]: independent
}

void matrix_multiply(double (*c)[64], const double (*a)[64], const double (*b)[64]) {
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++) {
            double sum = 0;
            for (int k = 0; k < 64; k++)
                sum += a[i][k] * b[k][j]; // matrix: a[i][k] * b[k][j]: independent
            c[i][j] = sum;                // matrix: c[i][j]: independent
        }
}

void copy(volatile char *to, const volatile char *from, long n) {
    while (n--)
        *to++ = *from++; // copy: *to++ = *from++: independent
}

long breadth_first(const int *begins, const int *edges, int *distance, int *queue) {
    long head = 0, tail = 1;
    while (head < tail) {
        int u = queue[head++];                     // bfs: queue[head++]: independent
        int begin = begins[u], end = begins[u + 1]; // bfs: begins[u]: independent
        for (int e = begin; e < end; e++) {
            int v = edges[e];      // bfs: edges[e]: independent
            if (distance[v] < 0) { // bfs: distance[v]: independent
                distance[v] = 1;
                queue[tail++] = v; // bfs: queue[tail++] = v: independent
            }
        }
    }
    return tail;
}

struct cursor {
    struct node *at;
};

long walk_by_cursor(struct cursor *c) {
    long n = 0;
    while (c->at) {
        struct node *at = c->at;
        struct node *next = at->next; // cursor: c->at->next: carried
        c->at = next;
        n++;
    }
    return n;
}

long random_table(const long *table, long n) {
    unsigned long x = 1;
    long sum = 0;
    for (long i = 0; i < n; i++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        sum += table[x >> 44]; // random: table[x]: independent
    }
    return sum;
}

long random_chase(const long *table, long n) {
    unsigned long x = 1;
    for (long i = 0; i < n; i++)
        x = x * 6364136223846793005ul + table[x >> 44]; // random: x += table[x]: carried
    return x;
}

long find_root(int *parent, int x) {
    while (parent[x] != x) // forest: parent[x]: carried
        x = parent[x];
    return x;
}

__attribute__((noinline)) struct node *step_from(struct node *p) {
    __asm__ volatile("" ::: "memory");
    return p->next; // call: p->next in the called function: unknown
}

long walk_by_call(struct node *p) {
    long sum = 0;
    while (p) {
        sum += p->payload; // call: p->payload, p = f(p): unknown
        p = step_from(p);
    }
    return sum;
}

long recurse(const struct tree *t) {
    if (!t)
        return 0;
    return recurse(t->child[0]) + recurse(t->child[1]) + 1; // call: t->child[k], recursion: any
}

long search_sorted(const long *a, long n, long key) {
    long low = 0;
    while (n > 1) {
        long half = n / 2;
        low = a[low + half] <= key ? low + half : low; // search: a[middle]: any
        n -= half;
    }
    return low;
}

int main(void) {
    return 0;
}
