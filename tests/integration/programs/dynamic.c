/* Tests processes that are started later. Usage: dynamic KIND N
 *
 * spawn     the job spawns N processes together, which send a greeting
 * multiple  the same with two commands
 * many      N times, one after the other, one process
 * names     half of the job offers a port under a name, the other half looks
 *           it up and connects
 *
 * Every process checks the data that it receives from the other side. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void check(int ok, int line) {
  if (ok) return;
  fprintf(stderr, "rank %d of %d: line %d\n", rank, size, line);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(what) check(what, __LINE__)

/* Sums the ranks of the other side. */
static void meet(MPI_Comm other, int theirs) {
  int sum = 0, remote = 0;
  MPI_Comm all;
  MPI_Comm_remote_size(other, &remote);
  CHECK(remote == theirs);
  MPI_Intercomm_merge(other, 0, &all);
  int both = 0, mine = 1;
  MPI_Allreduce(&mine, &both, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_size(all, &sum);
  CHECK(both == sum);
  MPI_Comm_free(&all);
}

static int child(int argc, char **argv, MPI_Comm parent) {
  int number = 0, from = 0;
  CHECK(argc >= 3 && strcmp(argv[1], "child") == 0);
  MPI_Bcast(&number, 1, MPI_INT, 0, parent);
  MPI_Comm_remote_size(parent, &from);
  meet(parent, from);
  printf("child %d of %d, number %d, %s\n", rank, size, number, argv[2]);
  fflush(stdout);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

static void greet(MPI_Comm children, int number, int count) {
  MPI_Bcast(&number, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL,
            children);
  meet(children, count);
  MPI_Comm_disconnect(&children);
}

static void spawn(char *program, int count, int number, MPI_Comm with) {
  char *argv[] = {"child", "one", NULL};
  int errors[64];
  MPI_Comm children;
  MPI_Comm_spawn(program, argv, count, MPI_INFO_NULL, 0, with, &children,
                 errors);
  for (int i = 0; i < count; ++i) CHECK(errors[i] == MPI_SUCCESS);
  greet(children, number, count);
}

static void multiple(char *program, int count) {
  char *one[] = {"child", "one", NULL};
  char *two[] = {"child", "two", NULL};
  char *commands[] = {program, program};
  char **argvs[] = {one, two};
  int counts[] = {count, 1}, errors[64];
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm children;
  MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD,
                          &children, errors);
  for (int i = 0; i < count + 1; ++i) CHECK(errors[i] == MPI_SUCCESS);
  greet(children, 7, count + 1);
}

/* The halves know each other only by the name. */
static void names(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  const char *service = "canopy test service";
  const int serves = rank < size / 2;
  MPI_Comm half, other;
  MPI_Comm_split(MPI_COMM_WORLD, serves, rank, &half);
  int part = 0;
  MPI_Comm_size(half, &part);
  if (serves) {
    if (rank == 0) {
      MPI_Open_port(MPI_INFO_NULL, port);
      MPI_Publish_name(service, MPI_INFO_NULL, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    int first = 0;
    MPI_Comm_rank(half, &first);
    if (first == 0) MPI_Lookup_name(service, MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other);
  }
  int theirs = 0;
  MPI_Comm_remote_size(other, &theirs);
  CHECK(theirs == size - part);
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
  CHECK(sum == theirs);
  MPI_Comm_disconnect(&other);
  if (rank == 0) {
    MPI_Unpublish_name(service, MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(argc, argv, parent);
  CHECK(argc == 3);
  const int count = atoi(argv[2]);
  if (strcmp(argv[1], "spawn") == 0) spawn(argv[0], count, 1, MPI_COMM_WORLD);
  if (strcmp(argv[1], "multiple") == 0) multiple(argv[0], count);
  for (int i = 0; strcmp(argv[1], "many") == 0 && i < count; ++i) {
    spawn(argv[0], 1, i, MPI_COMM_WORLD);
  }
  if (strcmp(argv[1], "names") == 0) names();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("dynamic ok, %s\n", argv[1]);
  MPI_Finalize();
  return 0;
}
