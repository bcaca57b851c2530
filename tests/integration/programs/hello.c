/* Every rank prints where it runs; the sum of all ranks is checked. */
#include "check.h"

int main(int argc, char **argv) {
  begin(&argc, &argv);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  int sum = 0;
  MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != check_size * (check_size - 1) / 2) fail("wrong sum");
  printf("hello from rank %d of %d on %s\n", check_rank, check_size, name);
  end("hello");
  return 0;
}
