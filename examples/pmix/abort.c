/* The last rank aborts the job with the status argv[2] while the others wait
 * in a fence that it never enters. */
#include "check.h"

int main(int argc, char **argv) {
  begin(argc, argv);
  CHECK(argc > 2);
  if (self.rank == job_size - 1) {
    (void)PMIx_Abort(atoi(argv[2]), "example has had enough", NULL, 0);
  }
  fence(false);
  printf("abort: rank %u should not be here\n", self.rank);
  return 0;
}
