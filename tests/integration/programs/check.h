/* Shared by every MPI test program. The first argument is the size that the
 * launcher promised, which is checked, because a program without a launcher
 * silently runs as a job of one process. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int check_rank = -1;
static int check_size = -1;

static void fail(const char *what) {
  fprintf(stderr, "rank %d of %d: %s\n", check_rank, check_size, what);
  exit(1);
}

static void begin(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &check_size);
  if (*argc < 2) fail("usage: PROGRAM EXPECTED_SIZE");
  if (check_size != atoi((*argv)[1])) fail("not the size that was launched");
}

static void end(const char *name) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0) printf("%s ok size %d\n", name, check_size);
  fflush(stdout);
  MPI_Finalize();
}

#endif
