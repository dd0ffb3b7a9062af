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
 * back with its size. Under `homenode svm run` it is memory that all nodes share. */
void *homenode_shared_alloc(size_t bytes) __attribute__((weak));
void homenode_shared_free(void *memory, size_t bytes) __attribute__((weak));

/* Shared virtual memory: `homenode svm run -n NODES -- program` runs a program on nodes that share what
 * homenode_shared_alloc gives, and nothing else. The functions below are there only then; a program that asks
 * homenode_svm_threads first also runs with threads of its own. A mistake ends the program, status 1, with one line.
 *
 * The nodes are processes, forked when the first thread is created: they have what the program's other memory held
 * then, and later changes stay with the node that makes them. Shared memory is as usual for programs without data
 * races: what was written before a lock is given back, a barrier, a creation or the end of a thread is seen after the
 * lock is taken, the barrier, in the created thread, and after homenode_join. */

/* Threads of all nodes, which are as many as must take part; 0 if there is no shared virtual memory. */
unsigned homenode_svm_threads(void) __attribute__((weak));

/* Creates a thread that calls start(argument): the first homenode_thread() 1, and so on. So many threads in a row live
 * on a node as `--threads` says. Programs have the C library's input and output there, and exit() ends all nodes. */
void homenode_create(void (*start)(void *), void *argument) __attribute__((weak));

/* Waits until all created threads have returned. For the program's first thread alone; then others can be created. */
void homenode_join(void) __attribute__((weak));

/* A lock, named by an address, which need not be of shared memory and whose content does not matter. Not recursive. */
void homenode_lock(void *name) __attribute__((weak));
void homenode_unlock(void *name) __attribute__((weak));

/* Waits until all threads have come to the barrier of this name, an address as for locks. `threads` must be
 * homenode_svm_threads(). */
void homenode_barrier(void *name, unsigned threads) __attribute__((weak));

/* Nodes; the calling thread's node, from 0; and the number of the calling thread, from 0 for the program's first. */
unsigned homenode_nodes(void) __attribute__((weak));
unsigned homenode_node(void) __attribute__((weak));
unsigned homenode_thread(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#define HOMENODE_PHASE_BEGIN(name) (homenode_phase_begin ? homenode_phase_begin(name) : (void)0)
#define HOMENODE_PHASE_END(name) (homenode_phase_end ? homenode_phase_end(name) : (void)0)

#endif
