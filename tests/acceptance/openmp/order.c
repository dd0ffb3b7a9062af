/* No data race: each thing below is ordered by a construct of OpenMP, and by nothing else. Whoever leaves one out sees references that
 * nothing orders. */
#include <omp.h>
#include <stdio.h>

enum { T = 4, N = 4096 };
static long cells[N], chain, left, right, both, parts[N], turns[N], made[N], grouped[N], deep;

static long fib(int n) {
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) firstprivate(n)
    a = fib(n - 1);
#pragma omp task shared(b) firstprivate(n)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static long with_dependences(void) {
#pragma omp parallel num_threads(T)
#pragma omp master
    {
#pragma omp task depend(out : chain)
        chain = 7;
#pragma omp task depend(in : chain) depend(out : left)
        left = chain + 1;
#pragma omp task depend(in : chain) depend(out : right)
        right = chain + 2;
#pragma omp task depend(in : left, right)
        both = left * right;
    }
    return both;
}

static long with_groups(void) {
    long sum = 0;
#pragma omp parallel num_threads(T)
#pragma omp master
    {
#pragma omp taskgroup
        for (int i = 0; i < 16; i++) {
#pragma omp task firstprivate(i)
            {
                /* A grandchild, for which nobody waits but the group. */
#pragma omp task firstprivate(i)
                grouped[i] = i;
            }
        }
        for (int i = 0; i < 16; i++)
            sum += grouped[i];
#pragma omp taskloop grainsize(64)
        for (int i = 0; i < N; i++)
            parts[i] = i;
        for (int i = 0; i < N; i++)
            sum += parts[i];
#pragma omp task if (0)
        deep = sum;
        sum = deep + 1;
    }
    return sum;
}

static long with_worksharing(void) {
    long sum = 0, got = 0;
    double x = 0;
#pragma omp parallel num_threads(T) private(x)
    {
#pragma omp single copyprivate(x)
        x = 3;
#pragma omp sections
        {
#pragma omp section
            for (int i = 0; i < N / 2; i++)
                cells[i] = i;
#pragma omp section
            for (int i = N / 2; i < N; i++)
                cells[i] = i;
        }
#pragma omp for schedule(static, 1) ordered reduction(+ : sum)
        for (int i = 0; i < 64; i++) {
            sum += cells[N - 1 - i];
#pragma omp ordered
            turns[i] = i ? turns[i - 1] + 1 : 0;
        }
#pragma omp for schedule(dynamic, 7) nowait
        for (int i = 0; i < N; i++)
            made[i] = cells[i];
#pragma omp barrier
#pragma omp for schedule(guided) reduction(+ : got)
        for (int i = 0; i < N; i++)
            got += made[N - 1 - i] + (long)x;
    }
    return sum + got + turns[63];
}

int main(void) {
    long f = 0;
#pragma omp parallel num_threads(T)
#pragma omp single
    f = fib(9);
    printf("%ld %ld %ld %ld\n", f, with_dependences(), with_groups(), with_worksharing());
}
