/* 16-byte atomics, which need -mcx16. */
#include "expect.h"

typedef unsigned __int128 a128;

int main(void) {
    static _Alignas(16) a128 x;
    a128 big = (a128)1 << 100, expected = big + 1;
    homenode_phase_begin("wide");
    __atomic_store_n(&x, big, __ATOMIC_SEQ_CST);
    a128 old = __atomic_fetch_add(&x, 1, __ATOMIC_SEQ_CST);
    int swapped = __atomic_compare_exchange_n(&x, &expected, 3, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    a128 three = __atomic_exchange_n(&x, 4, __ATOMIC_SEQ_CST);
    a128 four = __atomic_load_n(&x, __ATOMIC_SEQ_CST);
    homenode_phase_end("wide");
    ref('w', 16, &x);
    sync_event("release", &x, 0);
    for (int i = 0; i < 3; i++) {
        ref('a', 16, &x);
        sync_event("acq_rel", &x, 0);
    }
    sync_event("acquire", &x, 0);
    ref('r', 16, &x);
    return !(old == big && swapped && three == 3 && four == 4);
}
