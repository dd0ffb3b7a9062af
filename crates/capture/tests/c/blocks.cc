// Blocks by every way that C++ has; each on a line of its own.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Cell {
    long value[100];
};

int main() {
    double *array = new double[1000];                                                  // line: array
    double *plain = static_cast<double *>(::operator new(8000));                       // line: plain
    std::vector<double> vector(1000);                                                  // line: vector
    auto unique = std::make_unique<double[]>(1000);                                    // line: unique
    auto shared = std::make_shared<Cell>();                                            // line: shared
    std::string string(1000, 'x');                                                     // line: string
    string.append(5000, 'y');                                                          // line: append
    char *copy = strdup(string.c_str());                                               // line: copy
    double *again = static_cast<double *>(realloc(nullptr, 8000));                     // line: again
    void *memalign = nullptr;
    if (posix_memalign(&memalign, 64, 8000)) return 1;                                 // line: memalign
    double *aligned = static_cast<double *>(aligned_alloc(64, 8000));                  // line: aligned
    auto touch = [&] {
        for (int i = 0; i < 1000; i++) {
            array[i] = plain[i] = vector[i] = unique[i] = again[i] = aligned[i] = i;
            shared->value[i % 100]++, string[i] = copy[i], static_cast<double *>(memalign)[i] = 1;
        }
    };
    std::thread thread(touch);
    thread.join();
    touch();
    double sum = array[1] + plain[1] + vector[1] + unique[1] + again[1] + aligned[1] + copy[1] + *(double *)memalign;
    printf("%f %c\n", sum, string[1]);
}
