/* Plain references of every size, in a known order. */
#include "expect.h"

static uint8_t b1;
static uint16_t b2;
static uint32_t b4;
static uint64_t b8;
static struct __attribute__((packed)) {
    uint8_t pad;
    uint16_t u2;
    uint32_t u4;
    uint64_t u8;
} odd;
static volatile uint32_t v4;
static double array[200];

#define BUMP(x, size)                                                                                                 \
    do {                                                                                                              \
        (x)++;                                                                                                        \
        FENCE();                                                                                                      \
        ref('r', size, &(x));                                                                                         \
        ref('w', size, &(x));                                                                                         \
    } while (0)

static NOINLINE void sum(double *a, int n) {
    for (int i = 1; i < n; i++) {
        a[i] += a[i - 1];
        FENCE();
    }
}

static NOINLINE void copy16(__int128 *to, const __int128 *from) {
    *to = *from;
}

int main(void) {
    static _Alignas(16) __int128 wide[2];
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    homenode_phase_begin("plain");
    BUMP(b1, 1ul);
    BUMP(b2, 2ul);
    BUMP(b4, 4ul);
    BUMP(b8, 8ul);
    BUMP(odd.u2, 2ul);
    BUMP(odd.u4, 4ul);
    BUMP(odd.u8, 8ul);
    v4 = 7;
    ref('w', 4, &v4);
    (void)v4;
    ref('r', 4, &v4);
    copy16(&wide[1], &wide[0]);
    ref('r', 16, &wide[0]);
    ref('w', 16, &wide[1]);
    homenode_phase_end("plain");
    homenode_phase_begin("loop");
    sum(array, 200);
    homenode_phase_end("loop");
    for (int i = 1; i < 200; i++) {
        ref('R', 8, &array[i - 1]);
        ref('R', 8, &array[i]);
        ref('W', 8, &array[i]);
    }
    return 0;
}
