/* kit
class = "heap neighbours"
truth = "Main allocates 600 jobs of 40 bytes, one by one, and deals them to three threads in turn: nearly every line has jobs of two threads."
build = ["gcc", "-O1"]
twin = ["-DFIXED"]
bugs = [{object = ["main", "new_job", "job"], made = "made", line = "hot", remedy = ["pad", "align", "blocks"]}]
*/
#include "team.h"

enum { T = 3, JOBS = 600 };
struct job { struct job *next; volatile long done, left; long size; char name[8]; };
static struct job *first[T];

static void body(int id) {
    for (int round = 0; round < 40; round++)
        for (struct job *j = first[id]; j; j = j->next) {
            j->done += 1;  // hot
            j->left -= 1;  // hot
        }
}

int main(void) {
    for (int i = 0; i < JOBS; i++) {
#ifdef FIXED
        struct job *j = aligned_alloc(64, 64);
#else
        struct job *j = malloc(sizeof *j);  // made
#endif
        *j = (struct job){.next = first[i % T], .left = 100, .size = i};
        first[i % T] = j;
    }
    team(T);
    printf("%ld\n", first[0]->left);
}
