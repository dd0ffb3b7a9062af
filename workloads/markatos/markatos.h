/* What the programs after Markatos and Chronaki (1993, section 3.1.1) share beside thesis.h: private references, and loops
 * whose iterations processors take for themselves.
 *
 * Their traces came from another study and are gone; of the programs little more than the names, lengths and working sets is
 * told. These are stand-ins: which protocol is ahead of which can be compared, digits cannot. Words have four bytes, as
 * there. `-r` is the seed: it says who takes which iteration, so a recording repeats. */
#ifndef MARKATOS_H
#define MARKATOS_H
#include "thesis.h"

/* Private memory of a thread: on its stack, so recordings know it for private. */
#define PRIVATE_WORDS 32u
struct mine {
    float word[PRIVATE_WORDS];
};

/* About so many references to private memory: what a compiler of then kept there and ours keeps in registers. */
static __attribute__((noinline, unused)) float private_work(struct mine *mine, unsigned references) {
    float sum = 0;
    for (unsigned i = 0; i < references / 2; i++) {
        unsigned at = i % PRIVATE_WORDS;
        sum += mine->word[at];
        mine->word[at] = 0.5f * sum;
    }
    return sum;
}

/* A whole number as a value that a sum of a million of them keeps exactly. */
static inline float small_value(uint64_t i) {
    return (float)(hn_mix(i) >> 56);
}
#endif
