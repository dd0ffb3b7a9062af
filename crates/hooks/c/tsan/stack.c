/* The stacks of threads, as objects. */
#include "runtime.h"

/* First events of a thread: the memory of its stack. */
void hnrt_thread_began(struct hn_thread *t) {
    pthread_attr_t attributes;
    void *stack;
    size_t bytes;
    if (!t->recording)
        return;
    t->guard++;
    bool known = pthread_getattr_np(pthread_self(), &attributes) == 0;
    if (known) {
        known = pthread_attr_getstack(&attributes, &stack, &bytes) == 0;
        pthread_attr_destroy(&attributes);
    }
    t->guard--;
    if (known && t->recording)
        hnrt_event_alloc(t, stack, bytes, 1, t->start ? (uintptr_t)t->start : 0);
}
