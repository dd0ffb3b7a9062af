/* What the programs of Bolosky's thesis (1993, section 2.2) share beside hn_workload.h: memory laid out as on a 32-bit
 * machine, tasks dealt by seed, and the part of a run that its traces hold.
 *
 * Shared arrays begin on pages of 4096 bytes, one after the other, in chunks that begin on multiples of 1 MiB: so what
 * lies beside what, in blocks of any size of the thesis, is the same in every run. Pointers inside shared memory are
 * numbers of four bytes, as they were there. The phase `traced` holds what a trace of the thesis holds, initialisation
 * and work; the check comes after it. */
#ifndef THESIS_H
#define THESIS_H
#include "hn_workload.h"

#define THESIS_CHUNK ((size_t)1 << 20)
#define THESIS_CHUNKS_MAX 64u

static struct {
    void *chunks[THESIS_CHUNKS_MAX];
    char *at, *end;
    unsigned count;
} thesis_memory; /* touched by the first thread only, outside of `traced` */

/* A chunk with room for so many bytes. */
static void thesis_room(const char *name, size_t wanted) {
    if ((size_t)(thesis_memory.end - thesis_memory.at) >= wanted)
        return;
    size_t chunk = (wanted + 3 * THESIS_CHUNK + THESIS_CHUNK - 1) / THESIS_CHUNK * THESIS_CHUNK;
    if (thesis_memory.count == THESIS_CHUNKS_MAX)
        hn_die(name, ENOMEM);
    char *memory = hn_shared_note(aligned_alloc(THESIS_CHUNK, chunk), name, chunk);
    thesis_memory.chunks[thesis_memory.count++] = memory;
    thesis_memory.at = memory;
    thesis_memory.end = memory + chunk;
}

/* An array, from the next page on. */
static void *thesis_alloc(const char *name, size_t bytes) {
    size_t wanted = hn_pages(bytes ? bytes : 1);
    thesis_room(name, wanted);
    char *memory = thesis_memory.at;
    thesis_memory.at += wanted;
    return hn_shared_note(memory, name, wanted);
}

/* What a program keeps beside its arrays, from the end of the chunk: the first array begins where the chunk does. */
static void *thesis_control(const char *name, size_t bytes) {
    size_t wanted = hn_pages(bytes);
    thesis_room(name, wanted);
    thesis_memory.end -= wanted;
    return hn_shared_note(thesis_memory.end, name, wanted);
}

static void thesis_free(void) {
    for (unsigned i = 0; i < thesis_memory.count; i++)
        free(thesis_memory.chunks[i]);
}

/* Every thread at the beginning and at the end of what a trace holds. */
static void thesis_begin(hn_barrier *barrier, unsigned thread) {
    hn_barrier_wait(barrier);
    if (thread == 0)
        hn_phase_begin("traced");
    hn_barrier_wait(barrier);
}

static void thesis_end(hn_barrier *barrier, unsigned thread) {
    hn_barrier_wait(barrier);
    if (thread == 0)
        hn_phase_end("traced");
    hn_barrier_wait(barrier);
}

/* Which thread has a task that goes to whoever is free: any, by the seed and not by the host's scheduler. */
static inline unsigned thesis_dealt(uint64_t seed, uint64_t task, unsigned threads) {
    return (unsigned)((hn_mix(hn_mix(seed) ^ task) >> 32) % threads);
}

/* Folds a value into a checksum. */
static inline uint64_t thesis_sum(uint64_t sum, uint64_t value) {
    return hn_mix(sum ^ value);
}

#endif
