/* What `homenode` asks of the MPI that started it. The MPI's own compiler makes a library of this file, which is loaded into
 * homenode's processes and never into the program. Every function returns 0 if all went well. */
#include <mpi.h>

#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* One thread calls MPI at a time. But MPICH's own thread, which goes on with what others want, is there with the highest level alone, and with that
 * level parts of Open MPI are not there. */
#ifdef OPEN_MPI
#define WANTED_LEVEL MPI_THREAD_SERIALIZED
#else
#define WANTED_LEVEL MPI_THREAD_MULTIPLE
#endif

/* Descriptors that are looked at where the system does not say how many there may be, and at most. */
enum { DESCRIPTORS = 1024, DESCRIPTORS_MOST = 65536 };

/* Programs that are started inherit nothing of MPI's: what waits for the end of a rank would wait for theirs. */
static void hide_descriptors(void)
{
    long most = sysconf(_SC_OPEN_MAX);
    if (most < 0)
        most = DESCRIPTORS;
    if (most > DESCRIPTORS_MOST)
        most = DESCRIPTORS_MOST;
    for (int file = STDERR_FILENO + 1; file < most; file++) {
        int flags = fcntl(file, F_GETFD);
        if (flags != -1)
            fcntl(file, F_SETFD, flags | FD_CLOEXEC);
    }
}

/* Joins the other ranks; the number of this one, and how many there are. */
int homenode_mpi_begin(int *rank, int *size)
{
    int level;
    if (MPI_Init_thread(NULL, NULL, WANTED_LEVEL, &level) != MPI_SUCCESS)
        return 1;
    hide_descriptors();
    /* Who calls hears of errors. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return MPI_Comm_rank(MPI_COMM_WORLD, rank) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, size) != MPI_SUCCESS ||
           level < MPI_THREAD_SERIALIZED;
}

/* Gives every rank `bytes` bytes of each, in the order of the ranks. */
int homenode_mpi_gather(const void *mine, void *all, int bytes)
{
    return MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* Gives every rank the bytes of rank 0. */
int homenode_mpi_broadcast(void *data, int bytes)
{
    return MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* Sleeps without any call of MPI. */
static void leave_alone(int milliseconds)
{
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    while (nanosleep(&rest, &rest) == -1)
        ;
}

/* Whether words of all other ranks can be read and written in half of `milliseconds`, as these ranks sleep. */
static int reaches_others(MPI_Win window, int rank, int size, int milliseconds)
{
    double since = MPI_Wtime();
    for (int target = 0; target < size; target++) {
        uint64_t read = 0, written = (uint64_t)rank + 1;
        if (target == rank)
            continue;
        MPI_Get(&read, sizeof read, MPI_BYTE, target, 0, sizeof read, MPI_BYTE, window);
        MPI_Win_flush(target, window);
        MPI_Put(&written, sizeof written, MPI_BYTE, target, sizeof read, sizeof written, MPI_BYTE, window);
        MPI_Win_flush(target, window);
        if (read != (uint64_t)target + 1 || (MPI_Wtime() - since) * 1000 > milliseconds / 2)
            return 0;
    }
    return 1;
}

/* Whether the memory of every rank can be read and written by all others while it does not call MPI, and sees what was written. Each rank in turn is
 * the one that does so; the others sleep for `milliseconds`. It waits first, for they may still be on their way out of MPI. An MPI that lets nobody
 * reach memory at all is no error. */
int homenode_mpi_is_one_sided(int milliseconds, int *result)
{
    volatile uint64_t words[2];
    int rank, size, mine, is_found = 0, *model = NULL;
    MPI_Win window;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    words[0] = (uint64_t)rank + 1;
    words[1] = 0;
    *result = 0;
    if (MPI_Win_create((void *)words, sizeof words, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window) != MPI_SUCCESS)
        return 0;
    MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &is_found);
    mine = is_found && *model == MPI_WIN_UNIFIED;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    *result = 1;
    for (int turn = 0; turn < size && *result; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn == rank) {
            leave_alone(milliseconds / 4);
            mine = reaches_others(window, rank, size, milliseconds) && mine;
        } else {
            leave_alone(milliseconds);
            mine = mine && words[1] == (uint64_t)turn + 1;
        }
        MPI_Allreduce(&mine, result, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(window);
    return MPI_Win_free(&window) != MPI_SUCCESS;
}

/* Memory that others read and write. */
static MPI_Win exposed;

/* Lets all ranks read and write this memory of this one; all ranks do so. */
int homenode_mpi_expose(void *start, uint64_t bytes)
{
    return MPI_Win_create(start, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed) != MPI_SUCCESS ||
           MPI_Win_lock_all(MPI_MODE_NOCHECK, exposed) != MPI_SUCCESS;
}

/* Takes that back, when all do. */
int homenode_mpi_hide(void)
{
    return MPI_Win_unlock_all(exposed) != MPI_SUCCESS || MPI_Win_free(&exposed) != MPI_SUCCESS;
}

/* Begins to read bytes of a rank's memory, which are there after a flush. */
int homenode_mpi_get(int rank, uint64_t at, void *to, int bytes)
{
    return MPI_Get(to, bytes, MPI_BYTE, rank, (MPI_Aint)at, bytes, MPI_BYTE, exposed) != MPI_SUCCESS;
}

/* Begins to write bytes of a rank's memory. */
int homenode_mpi_put(int rank, uint64_t at, const void *from, int bytes)
{
    return MPI_Put(from, bytes, MPI_BYTE, rank, (MPI_Aint)at, bytes, MPI_BYTE, exposed) != MPI_SUCCESS;
}

/* Waits until all that was begun with a rank's memory is done, here and there. */
int homenode_mpi_flush(int rank)
{
    return MPI_Win_flush(rank, exposed) != MPI_SUCCESS;
}

/* Goes on with what others want, where nobody else does. */
int homenode_mpi_go_on(void)
{
    int is_there;
    return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

/* Leaves the other ranks, when all do. */
int homenode_mpi_end(void)
{
    return MPI_Finalize() != MPI_SUCCESS;
}
