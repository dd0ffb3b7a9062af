/* Libraries that are closed. */
#include "real.h"
#include "runtime.h"

/* A library that is closed before anybody looked around would never have been there. */
INTERPOSE int dlclose(void *library) {
    struct hn_thread *t = hnrt_attached ? hnrt_recording() : NULL;
    if (t)
        hnrt_modules_scan(t);
    return REAL(dlclose)(library);
}
