/* kit
class = "clean"
truth = "Jacobi steps in bands of rows, both grids filled by their users: only the borders of bands are anybody else's."
build = ["clang", "-O2"]
machine = "small.toml"
*/
#include <pthread.h>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

int main() {
    const int threads = 8, rows = 256, columns = 512;
    std::unique_ptr<double[]> now(new double[rows * columns]), next(new double[rows * columns]);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            const int from = rows * t / threads, to = rows * (t + 1) / threads;
            double *a = now.get(), *b = next.get();
            for (int r = from; r < to; r++)
                for (int c = 0; c < columns; c++) a[r * columns + c] = b[r * columns + c] = r + c;
            for (int step = 0; step < 4; step++) {
                pthread_barrier_wait(&barrier);
                for (int r = from; r < to; r++) {
                    if (r == 0 || r == rows - 1) continue;
                    for (int c = 1; c < columns - 1; c++)
                        b[r * columns + c] = 0.25 * (a[(r - 1) * columns + c] + a[(r + 1) * columns + c] +
                                                     a[r * columns + c - 1] + a[r * columns + c + 1]);
                }
                std::swap(a, b);
            }
        });
    for (auto &t : team) t.join();
    std::printf("%f\n", now[columns + 1]);
}
