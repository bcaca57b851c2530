/* Rank 0 waits for data that never comes, rank 1 is alone in a fence, and the
 * other ranks pause. No rank ends by itself. */
#include "check.h"

int main(int argc, char **argv) {
  pmix_value_t *value = NULL;
  begin(argc, argv);
  pmix_proc_t last = rank_of_job(job_size - 1);
  fence(0);
  printf("waiting\n");
  fflush(stdout);
  if (me.rank == 0) (void) PMIx_Get(&last, "never", NULL, 0, &value);
  if (me.rank == 1) (void) PMIx_Fence(NULL, 0, NULL, 0);
  for (;;) pause();
}
