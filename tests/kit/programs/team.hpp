/* Threads that begin together, for the C++ programs of the kit. Without the gate a short thread may end before the next one
 * is made, and then they share nothing. */
#ifndef TEAM_HPP
#define TEAM_HPP
#include <pthread.h>
#include <thread>
#include <vector>

template <class F> void together(int threads, F f) {
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, nullptr, threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            pthread_barrier_wait(&gate);
            f(t);
        });
    for (auto &thread : team) thread.join();
}
#endif
