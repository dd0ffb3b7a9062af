/* kit
class = "initialised by main: vector(n)"
truth = "The constructors of the vectors zero them in main; threads made anew for each step use their own parts, so half is remote. In the twin each thread zeroes its own part."
build = ["gcc", "-O2"]
args = ["60000"]
machine = "small.toml"
repaired = ["-DFIXED"]
required = true
bugs = [
    {object = ["points", "Dataset::Dataset"], made = "zeroed", line = "zeroed", remedy = ["initialise"]},
]
*/
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#ifdef FIXED
template <class T> using Array = std::unique_ptr<T[]>;
template <class T> Array<T> array(size_t n) { return Array<T>(new T[n]); }
#else
template <class T> using Array = std::vector<T>;
template <class T> Array<T> array(size_t n) {
    return Array<T>(n);  // zeroed
}
#endif

struct Dataset {
    Array<float> points;
    Array<int> label;
    size_t n, d;
    Dataset(size_t n_, size_t d_)
        : points(array<float>(n_ * d_)),  // zeroed
          label(array<int>(n_)), n(n_), d(d_) {}
};
// Threads that come later get the arenas of those that have ended: only lines of their own keep the counts apart.
struct alignas(64) Partial {
    double sum[16] = {};
    long count[8] = {};
};
static std::vector<float> centroid;

template <class F> void parallel(int threads, size_t n, F f) {
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++) team.emplace_back([=] { f(t, n * t / threads, n * (t + 1) / threads); });
    for (auto &t : team) t.join();
}

int main(int argc, char **argv) {
    const size_t n = argc > 1 ? atol(argv[1]) : 200000, d = 8;
    const int threads = 8, k = 2, steps = 4;
    Dataset data(n, d);  // zeroed
    centroid.resize(k * d);
    std::vector<std::unique_ptr<Partial>> part(threads);
    parallel(threads, n, [&](int t, size_t a, size_t b) {
#ifdef FIXED
        for (size_t i = a * d; i < b * d; i++) data.points[i] = 0;
        for (size_t i = a; i < b; i++) data.label[i] = 0;
#endif
        unsigned s = t * 7919 + 1;
        for (size_t i = a; i < b; i++) for (size_t j = 0; j < d; j++) {
            s = s * 1664525u + 1013904223u;
            data.points[i * d + j] = (s >> 8) * (1.0f / (1 << 24)) + (i % k);
        }
        part[t] = std::make_unique<Partial>();
    });
    for (size_t i = 0; i < k * d; i++) centroid[i] = data.points[i];
    for (int step = 0; step < steps; step++) {
        parallel(threads, n, [&](int t, size_t a, size_t b) {
            Partial &p = *part[t];
            for (size_t i = a; i < b; i++) {
                float best = 1e30f;
                int nearest = 0;
                for (int c = 0; c < k; c++) {
                    float s = 0;
                    for (size_t j = 0; j < d; j += 4) {
                        float x = data.points[i * d + j] - centroid[c * d + j];
                        s += x * x;
                    }
                    if (s < best) best = s, nearest = c;
                }
                data.label[i] = nearest;
                p.count[nearest]++;
            }
        });
        for (int t = 0; t < threads; t++) centroid[0] += part[t]->count[0];
    }
    printf("centroid[0] = %f\n", centroid[0]);
}
