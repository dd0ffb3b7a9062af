/* A library whose constructor takes its time: what is sampled before is of the same process as what comes after. */
#include <unistd.h>

__attribute__((constructor)) static void begin(void) {
    usleep(900 * 1000);
}
