/* A library that is loaded later, with data of its own. It allocates nothing. */
#include "where.h"

char table[64 * 4096] __attribute__((aligned(4096)));
static char at_load;

__attribute__((constructor)) static void load(void) {
    table[0] = 1;
    at_load = table[0];
}

void show(void) {
    where(at_load ? "table" : "?", table, sizeof table);
}
