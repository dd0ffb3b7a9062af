/* What `homenode` asks of the MPI that started it. The MPI's own compiler makes a library of this file, which is loaded into
 * homenode's processes and never into the program. Every function returns 0 if all went well. */
#include <mpi.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
        return 1;
    hide_descriptors();
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

/* Leaves the other ranks, when all do. */
int homenode_mpi_end(void)
{
    return MPI_Finalize() != MPI_SUCCESS;
}
