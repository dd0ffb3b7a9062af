/* A library built with the hooks: uses them through the program that loads it. */
#include <string.h>
int library_cells[8];
int library(const char *text);
int library(const char *text) {
    for (int i = 0; i < 8; i++) {
        library_cells[i] = i;
        __asm__ volatile("" ::: "memory");
    }
    return (int)strlen(text);
}
