/* The last rank aborts with the code of the second argument while the others
 * wait for it. */
#include "check.h"

int main(int argc, char **argv) {
  begin(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == check_size - 1) {
    MPI_Abort(MPI_COMM_WORLD, argc > 2 ? atoi(argv[2]) : 7);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  end("abort");
  return 0;
}
