/* kit
class = "initialised by main: vector(n)"
truth = "Eight threads fill and use their own parts, but the vectors' constructors have zeroed them in main before: 7 of 8 parts of first touches are main's. Each thread zeroing its own part cures it."
build = ["gcc", "-O2"]
args = ["100000", "3"]
machine = "small.toml"
report = ["--threshold", "2"]
repaired = ["-DFIXED"]
bugs = [
    {object = ["x", "Particles::Particles"], made = "x_made", line = "x_made", remedy = ["initialise"]},
    {object = ["v", "Particles::Particles"], made = "v_made", line = "v_made", remedy = ["initialise"]},
    {object = ["f", "Particles::Particles"], made = "f_made", line = "f_made", remedy = ["initialise"]},
    {object = ["cell", "Particles::Particles"], made = "cell_made", line = "cell_made", remedy = ["initialise"]},
]
*/
#include <pthread.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#ifdef FIXED
template <class T> using Array = std::unique_ptr<T[]>;
#define ARRAY(T, n) new T[n]
#else
template <class T> using Array = std::vector<T>;
#define ARRAY(T, n) n
#endif

struct Particles {
    Array<double> x, v, f;
    Array<int> cell;
    explicit Particles(size_t n) :
        x(ARRAY(double, n)),  // x_made
        v(ARRAY(double, n)),  // v_made
        f(ARRAY(double, n)),  // f_made
        cell(ARRAY(int, n))   // cell_made
    {}
};
static double table[4096];

int main(int argc, char **argv) {
    const size_t n = argc > 1 ? atol(argv[1]) : 100000;
    const int threads = 8, steps = argc > 2 ? atoi(argv[2]) : 3;
    Particles p(n);
    for (int i = 0; i < 4096; i++) table[i] = std::sin(i * 0.001);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, threads);
    std::vector<double> energy(threads * 16);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            const size_t from = n * t / threads, to = n * (t + 1) / threads;
#ifdef FIXED
            for (size_t i = from; i < to; i++) p.x[i] = p.v[i] = p.f[i] = p.cell[i] = 0;
#endif
            for (size_t i = from; i < to; i++) p.x[i] = i * 0.1, p.v[i] = 1;
            for (int s = 0; s < steps; s++) {
                pthread_barrier_wait(&barrier);
                for (size_t i = from; i < to; i++) {
                    p.cell[i] = (int)p.x[i] & 4095;
                    p.f[i] = -table[p.cell[i]];
                }
                pthread_barrier_wait(&barrier);
                double e = 0;
                for (size_t i = from; i < to; i++) {
                    p.v[i] += p.f[i] * 0.01;
                    p.x[i] += p.v[i] * 0.01;
                    e += p.v[i] * p.v[i];
                }
                energy[t * 16] += e;
            }
        });
    for (auto &t : team) t.join();
    std::printf("%f\n", energy[0]);
}
