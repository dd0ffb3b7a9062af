/* Who takes which task, reckoned from what tasks are expected to take. Compiled with HN_RECKONED=1 a program whose threads take
 * tasks from queues keeps to it: a recording then repeats, and has the threads as busy as on processors of their own, not as the host
 * with fewer of them had them. Without, whoever comes first takes the next. */
#ifndef RECKON_H
#define RECKON_H

#ifndef HN_RECKONED
#define HN_RECKONED 0
#endif

#define VISIT 8u /* what it takes to look into a queue, where a task takes `costs` */

/* Queue q has tasks q * room to q * room + counts[q] - 1, in this order. A thread first empties the queue of its number, modulo `queues`, and then
 * those after it; `taken_by` gets the thread of each task. */
static inline void reckon(const uint32_t *costs, const size_t *counts, size_t room, unsigned queues, unsigned threads, uint16_t *taken_by) {
    uint64_t *busy = calloc(threads, sizeof *busy);
    unsigned *past = calloc(threads, sizeof *past);
    size_t *next = calloc(queues, sizeof *next);
    if (!busy || !past || !next)
        hn_die("reckoning", ENOMEM);
    for (;;) {
        unsigned t = threads;
        for (unsigned u = 0; u < threads; u++)
            if (past[u] < queues && (t == threads || busy[u] < busy[t]))
                t = u;
        if (t == threads)
            break;
        unsigned q = (t + past[t]) % queues;
        busy[t] += VISIT;
        if (next[q] == counts[q]) {
            past[t]++;
            continue;
        }
        size_t task = q * room + next[q]++;
        taken_by[task] = (uint16_t)t;
        busy[t] += costs[task];
    }
    free(next);
    free(past);
    free(busy);
}

#endif
