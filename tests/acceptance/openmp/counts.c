/* Four threads. Three barriers: at the end of two loops, and one of its own. Sixty times a lock is taken: `critical`, another one with a name,
 * and a lock, by each thread five times. Four regions; 64 tasks, for which the one that created them waits. No data race; with -DRACE
 * nobody waits between two loops, of which the second reads what another thread has written in the first. */
#include <omp.h>
#include <stdio.h>

enum { N = 100000, T = 4, TASKS = 64 };
static double a[N], b[N];
static long plain, named, locked, squares[TASKS];

int main(void) {
    omp_lock_t lock;
    double sum = 0;
    long total = 0;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(T)
    {
#ifdef RACE
#pragma omp for schedule(static) nowait
        for (int i = 0; i < N; i++)
            a[i] = i;
#pragma omp for schedule(static)
#else
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            a[i] = i;
#pragma omp for schedule(dynamic, 1000)
#endif
        for (int i = 0; i < N; i++)
            b[i] = a[N - 1 - i];
#pragma omp barrier
        for (int k = 0; k < 5; k++) {
#pragma omp critical
            plain++;
#pragma omp critical(other)
            named++;
            omp_set_lock(&lock);
            locked++;
            omp_unset_lock(&lock);
        }
    }
#pragma omp parallel for num_threads(T) reduction(+ : sum)
    for (int i = 0; i < N; i++)
        sum += b[i];
#pragma omp parallel for num_threads(T) schedule(guided)
    for (int i = 0; i < N; i++)
        a[i] = b[i] + 1;
#pragma omp parallel num_threads(T)
#pragma omp master
    {
        for (int i = 0; i < TASKS; i++) {
#pragma omp task firstprivate(i)
            squares[i] = (long)i * i + plain;
        }
#pragma omp taskwait
        for (int i = 0; i < TASKS; i++)
            total += squares[i];
    }
    printf("%ld %ld %ld %ld %.0f %.0f\n", plain, named, locked, total, sum, a[0]);
}
