/* The last rank dies of SIGSEGV while the others wait for it. */
#include <signal.h>

#include "check.h"

int main(int argc, char **argv) {
  begin(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == check_size - 1) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  end("segv");
  return 0;
}
