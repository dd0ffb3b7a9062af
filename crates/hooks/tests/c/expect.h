/* A test program says what it is about to do, line by line on stdout, in code that is not recorded. */
#pragma once
#include <homenode.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define UNRECORDED __attribute__((noinline, no_sanitize("thread")))
#define NOINLINE __attribute__((noinline))
#define FENCE() __asm__ volatile("" ::: "memory")
#define HIDE(x) __asm__ volatile("" : "+r"(x))

__attribute__((unused)) UNRECORDED static void ref(char op, unsigned long size, const volatile void *p) {
    printf("%c %lu %#lx\n", op, size, (unsigned long)p);
}

__attribute__((unused)) UNRECORDED static void sync_event(const char *kind, const volatile void *p, unsigned long epoch) {
    printf("%s %#lx %lu\n", kind, (unsigned long)p, epoch);
}
