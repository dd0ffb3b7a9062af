/* System calls that leave errno alone: the runtime runs between any two instructions of the program. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

/* Result as the kernel gives it: negative error number on failure. */
static inline long os_call6(long nr, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "homenode hooks support x86-64 and aarch64"
#endif
}
#define OS_GET_7(_1, _2, _3, _4, _5, _6, _7, n, ...) n
#define OS_1(n) os_call6(n, 0, 0, 0, 0, 0, 0)
#define OS_2(n, a) os_call6(n, (long)(a), 0, 0, 0, 0, 0)
#define OS_3(n, a, b) os_call6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define OS_4(n, a, b, c) os_call6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define OS_5(n, a, b, c, d) os_call6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define OS_6(n, a, b, c, d, e) os_call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define OS_7(n, a, b, c, d, e, f) os_call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define os(...) OS_GET_7(__VA_ARGS__, OS_7, OS_6, OS_5, OS_4, OS_3, OS_2, OS_1)(__VA_ARGS__)

static inline bool os_failed(long result) {
    return (unsigned long)result > -4096ul;
}

/* Time-stamp counter; on aarch64 the virtual counter. */
static inline uint64_t os_stamp(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#endif
}

static inline void os_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}
