/* Homenode's marks in a program. Every function is declared weak, so a program that calls them through the macros below
 * also links and runs without the hooks. */
#ifndef HOMENODE_H
#define HOMENODE_H

#include <stddef.h>
#include <stdint.h>

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
 * lock is taken, the barrier, in the created thread, and after homenode_join. So it is with conditions,
 * flags, atomic words and reductions, as said there. pthread objects, and the compiler's atomics, in shared memory synchronise the
 * threads of one node only; calls of the former are refused. */

/* Threads of all nodes, which are as many as must take part; 0 if there is no shared virtual memory. */
unsigned homenode_svm_threads(void) __attribute__((weak));

/* Creates a thread that calls start(argument): the first homenode_thread() 1, and so on. So many threads in a row live
 * on a node as `--threads` says. Programs have the C library's input and output there, and exit() ends all nodes. */
void homenode_create(void (*start)(void *), void *argument) __attribute__((weak));

/* Waits until all created threads have returned. For the program's first thread alone; then others can be created. */
void homenode_join(void) __attribute__((weak));

/* A lock, named by an address, which need not be of shared memory and whose content does not matter. Not recursive. One address
 * may be the name of a lock, a barrier, a condition and a flag, which have nothing to do with each other. */
void homenode_lock(void *name) __attribute__((weak));
void homenode_unlock(void *name) __attribute__((weak));

/* Waits until all threads have come to the barrier of this name, an address as for locks. `threads` must be
 * homenode_svm_threads(). */
void homenode_barrier(void *name, unsigned threads) __attribute__((weak));

/* A condition variable, named by an address. wait gives the lock up, which the calling thread must have, waits for a signal that
 * comes after that, and takes the lock again. signal wakes one thread that waits, broadcast all; neither needs the lock. Nobody is
 * woken without a signal, but another thread may have had the lock before, so wait in a loop. Who is woken sees what the one saw who
 * woke it. */
void homenode_cond_wait(void *name, void *lock) __attribute__((weak));
void homenode_cond_signal(void *name) __attribute__((weak));
void homenode_cond_broadcast(void *name) __attribute__((weak));

/* A flag, named by an address; not set at first. wait waits until it is set, and goes on then, also if it is cleared at once. Who
 * has waited, or asks and finds it set, sees what the one saw who set it. */
void homenode_flag_set(void *name) __attribute__((weak));
void homenode_flag_clear(void *name) __attribute__((weak));
void homenode_flag_wait(void *name) __attribute__((weak));
int homenode_flag_is_set(void *name) __attribute__((weak));

/* Atomic words: aligned, in shared memory. All calls on a word are in one order, the same for all threads, and who reads or changes
 * a word sees what those saw who changed it before. An ordinary read of the word is as any other. All but load and store give the value
 * before; compare_swap sets `new_value` if the word is `old`. A call costs about as much as a lock, and a page if another node changed
 * the word. */
uint64_t homenode_load64(const uint64_t *word) __attribute__((weak));
void homenode_store64(uint64_t *word, uint64_t value) __attribute__((weak));
uint64_t homenode_exchange64(uint64_t *word, uint64_t value) __attribute__((weak));
uint64_t homenode_fetch_add64(uint64_t *word, uint64_t add) __attribute__((weak));
uint64_t homenode_compare_swap64(uint64_t *word, uint64_t old, uint64_t new_value) __attribute__((weak));
uint32_t homenode_load32(const uint32_t *word) __attribute__((weak));
void homenode_store32(uint32_t *word, uint32_t value) __attribute__((weak));
uint32_t homenode_exchange32(uint32_t *word, uint32_t value) __attribute__((weak));
uint32_t homenode_fetch_add32(uint32_t *word, uint32_t add) __attribute__((weak));
uint32_t homenode_compare_swap32(uint32_t *word, uint32_t old, uint32_t new_value) __attribute__((weak));

/* Reductions: every thread calls the same function with its value, and all get what comes of all values: the sum (of int64_t
 * modulo 2^64), the least, the greatest. Values are put together in the order of homenode_thread(), so a sum of doubles is the same every
 * time; if one is a NaN, so is the result. Each is a barrier, too. */
int64_t homenode_reduce_sum_i64(int64_t value) __attribute__((weak));
int64_t homenode_reduce_min_i64(int64_t value) __attribute__((weak));
int64_t homenode_reduce_max_i64(int64_t value) __attribute__((weak));
double homenode_reduce_sum_f64(double value) __attribute__((weak));
double homenode_reduce_min_f64(double value) __attribute__((weak));
double homenode_reduce_max_f64(double value) __attribute__((weak));

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
