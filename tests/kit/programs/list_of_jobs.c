/* kit
class = "heap neighbours"
truth = "Main allocates 600 jobs of 40 bytes, one by one, for three threads in turn to fill and do: nearly every line has jobs of two threads."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = ["main", "new_job", "job"], made = "made", line = "hot", remedy = ["pad", "align", "blocks"]}]
*/
#include "team.h"

enum { T = 3, JOBS = 600 };
struct job { struct job *next; volatile long done, left; long size; char name[8]; };
static struct job *jobs[JOBS];

static void body(int id) {
    struct job *first = NULL;
    for (int i = id; i < JOBS; i += T) {
        struct job *j = jobs[i];
        j->next = first;  // hot
        j->done = 0;      // hot
        j->left = 100;    // hot
        j->size = i;      // hot
        first = j;
    }
    for (int round = 0; round < 40; round++)
        for (struct job *j = first; j; j = j->next) {
            j->done += 1;  // hot
            j->left -= 1;  // hot
        }
}

int main(void) {
    for (int i = 0; i < JOBS; i++) {
#ifdef FIXED
        jobs[i] = aligned_alloc(64, 64);
#else
        jobs[i] = malloc(sizeof **jobs);  // made
#endif
    }
    team(T);
    printf("%ld\n", jobs[0]->left);
}
