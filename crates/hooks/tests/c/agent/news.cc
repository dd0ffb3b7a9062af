/* C++: every operator new of a big object, and one that fails. */
#include <cerrno>
#include <new>
#include <vector>

#include "where.h"

struct alignas(128) Wide {
    char bytes[20000];
};

int main() {
    char *plain = new char[100000];
    where("array", plain, 100000);
    char *quiet = new (std::nothrow) char[110000];
    where("nothrow", quiet, 110000);
    Wide *wide = new Wide;
    where("aligned", wide, sizeof *wide);
    std::vector<long> growing;
    for (long i = 0; i < 100000; i++)
        growing.push_back(i);
    where("vector", growing.data(), growing.capacity() * sizeof(long));
    bool thrown = false;
    volatile size_t most = SIZE_MAX / 4;
    try {
        char *p = new char[most];
        where("impossible", p, 1);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    char *none = new (std::nothrow) char[most];
    HIDE(none);
    if (!thrown || none)
        abort();
    char *after = new char[120000];
    where("after", after, 120000);
    delete[] plain;
    operator delete[](quiet, std::nothrow);
    delete wide;
    delete[] after;
    return 0;
}
