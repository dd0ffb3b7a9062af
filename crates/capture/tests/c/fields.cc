// The same for C++: classes with bases, containers, new and new[].
#include <cstdio>
#include <memory>
#include <vector>

struct Base {
    long id = 0;
};

struct Cell : Base {
    int mass = 0;
    double place[3] = {};
};

namespace sky {
Cell cells[3];
}

struct Point {
    double x = 0, y = 0;
};

__attribute__((noinline)) static void say(const char *what, const volatile void *at) {
    std::printf("%s %#lx\n", what, reinterpret_cast<unsigned long>(at));
}

__attribute__((noinline)) static Point *make(unsigned n) {
    return new Point[n];
}

int main(int argc, char **argv) {
    if (argc > 1 && !std::freopen(argv[1], "w", stdout)) return 1;
    unsigned n = 3 + static_cast<unsigned>(argc);
    std::vector<Point> vector(n);
    Point *array = new Point[n];
    Point *made = make(n);
    Cell *one = new Cell;
    sky::cells[2].mass = argc, say("sky::cells[2].mass", &sky::cells[2].mass);
    sky::cells[1].id = argc, say("sky::cells[1].id", &sky::cells[1].id);
    vector[2].y = 1, say("vector[2].y", &vector[2].y);
    array[1].x = 1, say("array[1].x", &array[1].x);
    made[3].y = 1, say("made[3].y", &made[3].y);
    one->place[2] = 1, say("one.place[2]", &one->place[2]);
    std::printf("sum %f\n", vector[2].y + array[1].x + made[3].y + one->place[2]);
    delete[] array;
    delete[] made;
    delete one;
}
