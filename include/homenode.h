/* Homenode's marks in a program. Every function is declared weak, so a program that calls them through the macros below
 * also links and runs without the hooks. */
#ifndef HOMENODE_H
#define HOMENODE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A named phase of the calling thread. `homenode record --roi NAME` records references only while a phase of that
 * name is open in any thread. */
void homenode_phase_begin(const char *name) __attribute__((weak));
void homenode_phase_end(const char *name) __attribute__((weak));

/* Zeroed, page-aligned memory that forked children share, recorded as a shared object; NULL if there is none. Given
 * back with its size. */
void *homenode_shared_alloc(size_t bytes) __attribute__((weak));
void homenode_shared_free(void *memory, size_t bytes) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#define HOMENODE_PHASE_BEGIN(name) (homenode_phase_begin ? homenode_phase_begin(name) : (void)0)
#define HOMENODE_PHASE_END(name) (homenode_phase_end ? homenode_phase_end(name) : (void)0)

#endif
