/* The last rank aborts the job with status 9 while the others wait. */
#include "check.h"

int main(int argc, char **argv) {
  begin(argc, argv);
  fence(0);
  printf("rank %u loaded %s\n", me.rank,
         strstr(PMIx_Get_version(), "Canopy") != NULL ? "ours" : "openpmix");
  fflush(stdout);
  fence(0);
  if (me.rank == job_size - 1) (void) PMIx_Abort(9, "enough", NULL, 0);
  (void) PMIx_Fence(NULL, 0, NULL, 0);
  for (;;) pause();
}
