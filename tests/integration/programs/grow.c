/* Spawns processes on hosts that are added to the overlay.
 * Usage: grow KEY HOSTS COUNT TIMES
 *
 * The job spawns COUNT processes with the info KEY=HOSTS, TIMES times. Each
 * child prints the node on which it runs. A spawn that fails is reported, and
 * the job continues. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int child(MPI_Comm parent) {
  int rank = 0, mine = 1, all = 0;
  MPI_Comm both;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("child %d on %s\n", rank, getenv("PMIX_HOSTNAME"));
  fflush(stdout);
  MPI_Intercomm_merge(parent, 1, &both);
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, both);
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(&parent);
  return all > 1 ? 0 : 1;
}

static int spawn(char **argv, int number) {
  char *args[] = {"child", NULL};
  const int count = atoi(argv[3]);
  int mine = 1, all = 0, size = 0;
  MPI_Info info;
  MPI_Comm children, both;
  MPI_Info_create(&info);
  MPI_Info_set(info, argv[1], argv[2]);
  const int status = MPI_Comm_spawn(argv[0], args, count, info, 0,
                                    MPI_COMM_WORLD, &children,
                                    MPI_ERRCODES_IGNORE);
  MPI_Info_free(&info);
  if (status != MPI_SUCCESS) {
    printf("spawn %d failed\n", number);
    return 0;
  }
  MPI_Intercomm_merge(children, 0, &both);
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, both);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(&children);
  if (all == size + count) printf("spawn %d ok\n", number);
  return all == size + count ? 0 : 1;
}

int main(int argc, char **argv) {
  MPI_Comm parent;
  int wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    wrong = child(parent);
  } else if (argc == 5) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 1; i <= atoi(argv[4]); ++i) wrong |= spawn(argv, i);
    printf("grow ends\n");
  }
  MPI_Finalize();
  return wrong;
}
