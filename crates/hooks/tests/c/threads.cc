// C++: std::thread, std::mutex, a function-local static, virtual functions, exceptions and containers.
#include "expect.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

struct Shape {
    virtual ~Shape() {}
    virtual int sides() const = 0;
};
struct Square : Shape {
    int sides() const override { return 4; }
};

static std::mutex mutex;
static long counter;
static std::atomic<int> done;

static NOINLINE int deep(int n) {
    if (n == 0)
        throw std::runtime_error("bottom");
    return deep(n - 1) + n;
}

static NOINLINE std::vector<int> &once() {
    static std::vector<int> *v = new std::vector<int>(10);
    return *v;
}

static void work() {
    for (int i = 0; i < 1000; i++) {
        std::lock_guard<std::mutex> hold(mutex);
        counter++;
        once()[i % 10]++;
    }
    try {
        deep(20);
    } catch (const std::runtime_error &) {
        done++;
    }
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work);
    for (auto &t : threads)
        t.join();
    std::unique_ptr<Shape> shape(new Square);
    printf("%ld %d %d %#lx\n", counter, done.load(), shape->sides(), (unsigned long)shape.get());
    return counter == 4000 && done == 4 ? 0 : 1;
}
