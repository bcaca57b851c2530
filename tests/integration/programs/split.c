/* MPI_Comm_split_type by shared memory must return the ranks of one node. The
 * second argument, if given, is their expected number. */
#include "check.h"

int main(int argc, char **argv) {
  begin(&argc, &argv);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &node);
  int size = 0;
  MPI_Comm_size(node, &size);
  if (argc > 2 && size != atoi(argv[2])) fail("wrong number of local ranks");
  int *memory = NULL;
  MPI_Win window;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node,
                          &memory, &window);
  *memory = check_rank;
  MPI_Barrier(node);
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
  end("split");
  return 0;
}
