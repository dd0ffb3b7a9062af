/* The forms of operator new in front of which every product stands: X(symbol, parameters, arguments). */
#pragma once

#define HN_OPERATORS_NEW(X)                                                                                           \
    X(_Znwm, (size_t bytes), (bytes))                                                                                 \
    X(_Znam, (size_t bytes), (bytes))                                                                                 \
    X(_ZnwmRKSt9nothrow_t, (size_t bytes, const void *tag), (bytes, tag))                                             \
    X(_ZnamRKSt9nothrow_t, (size_t bytes, const void *tag), (bytes, tag))                                             \
    X(_ZnwmSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment))                                     \
    X(_ZnamSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment))                                     \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *tag), (bytes, alignment, tag)) \
    X(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *tag), (bytes, alignment, tag))
