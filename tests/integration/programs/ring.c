/* A token goes round ten times, and every rank adds one. */
#include "check.h"

int main(int argc, char **argv) {
  begin(&argc, &argv);
  const int next = (check_rank + 1) % check_size;
  const int previous = (check_rank + check_size - 1) % check_size;
  long token = 0;
  for (int round = 0; round < 10 && check_size > 1; ++round) {
    if (check_rank == 0) {
      ++token;
      MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
      MPI_Recv(&token, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&token, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      ++token;
      MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
    }
  }
  if (check_rank == 0 && check_size > 1 && token != 10L * check_size) {
    fail("the token lost count");
  }
  end("ring");
  return 0;
}
