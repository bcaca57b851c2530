/* Each rank sends a different block to each other rank. */
#include "check.h"

enum { BLOCK = 1024 };

int main(int argc, char **argv) {
  begin(&argc, &argv);
  int *out = malloc(sizeof(int) * BLOCK * (size_t)check_size);
  int *in = malloc(sizeof(int) * BLOCK * (size_t)check_size);
  for (int to = 0; to < check_size; ++to) {
    for (int i = 0; i < BLOCK; ++i) {
      out[to * BLOCK + i] = check_rank * 100000 + to * 1000 + i % 1000;
    }
  }
  MPI_Alltoall(out, BLOCK, MPI_INT, in, BLOCK, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < check_size; ++from) {
    for (int i = 0; i < BLOCK; ++i) {
      const int want = from * 100000 + check_rank * 1000 + i % 1000;
      if (in[from * BLOCK + i] != want) fail("wrong block");
    }
  }
  free(in);
  free(out);
  end("alltoall");
  return 0;
}
