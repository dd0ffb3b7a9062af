/* The functions in front of which the agent stands: X(name, return type, arguments). */
#pragma once

#include "real_shared.h"

#define HN_REAL(X)                                                                                                    \
    HN_REAL_SHARED(X)                                                                                                 \
    X(_ZdlPv, void, (void *))                                                                                         \
    X(_ZdaPv, void, (void *))                                                                                         \
    X(_ZdlPvm, void, (void *, size_t))                                                                                \
    X(_ZdaPvm, void, (void *, size_t))                                                                                \
    X(_ZdlPvSt11align_val_t, void, (void *, size_t))                                                                  \
    X(_ZdaPvSt11align_val_t, void, (void *, size_t))                                                                  \
    X(_ZdlPvmSt11align_val_t, void, (void *, size_t, size_t))                                                         \
    X(_ZdaPvmSt11align_val_t, void, (void *, size_t, size_t))                                                         \
    X(_ZdlPvRKSt9nothrow_t, void, (void *, const void *))                                                             \
    X(_ZdaPvRKSt9nothrow_t, void, (void *, const void *))                                                             \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t, void, (void *, size_t, const void *))                                      \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t, void, (void *, size_t, const void *))
