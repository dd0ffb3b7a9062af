/* operator new and delete: an allocator with its own does not come by malloc. Where they do, the object is known
 * already and the second look changes nothing. A program that has no operator new has nobody to call these. */
#include "operators.h"
#include "real.h"
#include "agent.h"

void *malloc(size_t bytes);
void free(void *p);

#define OPERATOR_NEW(symbol, parameters, arguments)                                                                   \
    INTERPOSE void *symbol parameters {                                                                               \
        if (LIKELY(bytes < hnag_threshold && hnrt_real.symbol))                                                       \
            return hnrt_real.symbol arguments;                                                                        \
        void *p = REAL(symbol) ? REAL(symbol) arguments : malloc(bytes);                                              \
        hnag_obtained(p, bytes, HNAG_HEAP);                                                                           \
        return p;                                                                                                     \
    }
HN_OPERATORS_NEW(OPERATOR_NEW)

#define OPERATOR_DELETE(symbol, parameters, arguments)                                                                \
    INTERPOSE void symbol parameters {                                                                                \
        struct hnag_object o;                                                                                         \
        if (UNLIKELY(hnag_maybe(p)))                                                                                  \
            hnag_released(p, &o);                                                                                     \
        if (LIKELY(REAL(symbol) != NULL))                                                                             \
            hnrt_real.symbol arguments;                                                                               \
        else                                                                                                          \
            free(p);                                                                                                  \
    }
OPERATOR_DELETE(_ZdlPv, (void *p), (p))
OPERATOR_DELETE(_ZdaPv, (void *p), (p))
OPERATOR_DELETE(_ZdlPvm, (void *p, size_t bytes), (p, bytes))
OPERATOR_DELETE(_ZdaPvm, (void *p, size_t bytes), (p, bytes))
OPERATOR_DELETE(_ZdlPvSt11align_val_t, (void *p, size_t alignment), (p, alignment))
OPERATOR_DELETE(_ZdaPvSt11align_val_t, (void *p, size_t alignment), (p, alignment))
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t bytes, size_t alignment), (p, bytes, alignment))
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t bytes, size_t alignment), (p, bytes, alignment))
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const void *tag),
                (p, alignment, tag))
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment, const void *tag),
                (p, alignment, tag))
