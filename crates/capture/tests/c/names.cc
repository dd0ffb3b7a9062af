// Mangled names and inlining.
#include <numeric>
#include <vector>

namespace grid {
int cells[64];

struct Relax {
    template <class T> __attribute__((noinline)) void over(T *v, int n) {
        for (int i = 0; i < n; i++)
            v[i] += 1; // line: template
    }
};

inline void inlined(int *to) {
    *to = 7; // line: inlined
}
} // namespace grid

int main() {
    grid::Relax r;
    r.over(grid::cells, 64);
    grid::inlined(grid::cells);
    std::vector<int> v(100, 1);
    return std::accumulate(v.begin(), v.end(), 0) == 100 ? 0 : 1;
}
