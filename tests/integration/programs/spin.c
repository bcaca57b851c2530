/* Prints that it is up and then exchanges messages until it is ended. */
#include "check.h"

int main(int argc, char **argv) {
  begin(&argc, &argv);
  printf("up\n");
  fflush(stdout);
  for (;;) MPI_Barrier(MPI_COMM_WORLD);
}
