/* Calculates until a file appears. Usage: UNTIL EXPECTED_SIZE FILE */
#include <unistd.h>

#include "check.h"

int main(int argc, char **argv) {
  begin(&argc, &argv);
  if (argc < 3) fail("usage: until EXPECTED_SIZE FILE");
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d is ready\n", check_rank);
  fflush(stdout);
  for (int over = 0; !over;) {
    int seen = check_rank == 0 && access(argv[2], F_OK) == 0;
    MPI_Allreduce(&seen, &over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    usleep(1000);
  }
  /* These operations still need the agent. */
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Barrier(other);
  MPI_Comm_free(&other);
  end("until");
  return 0;
}
