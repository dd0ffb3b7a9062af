// Blocks that globals, members and locals get, and references that library code makes.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Base {
    long id = 0;
};

struct Inner {
    long n = 0;
    double *more = nullptr;
};

class Table : public Base {
  public:
    explicit Table(unsigned n) : size(n) {
        data = new double[n];
        inner.more = new double[n];
    }
    ~Table() {
        delete[] data;
        delete[] inner.more;
    }
    unsigned size;
    Inner inner;
    double *data;
};

struct Derived : Table {
    explicit Derived(unsigned n) : Table(n) { extra = static_cast<int *>(std::malloc(n * sizeof *extra)); }
    ~Derived() { std::free(extra); }
    int *extra;
};

long *plain; // Not static: compilers make a local of what only main uses.
static std::atomic<long> count;
static std::atomic<int> twice;

int main(int argc, char **) {
    unsigned n = 1000 + static_cast<unsigned>(argc);
    Derived table(n);
    plain = static_cast<long *>(std::calloc(n, sizeof *plain));
    double *local = new double[n];
    std::vector<double> v(n);
    count.fetch_add(1);
    std::fill(v.begin(), v.end(), 2.0);    // line: fill
    twice.store(1);
    twice.store(2);
    for (unsigned i = 0; i < n; i++) plain[i] = i, local[i] = v[i], table.data[i] = i, table.extra[i] = 1;
    std::printf("%ld %f %f %d\n", plain[3], local[2], table.data[1], table.extra[4] + twice.load());
    delete[] local;
    std::free(plain);
}
