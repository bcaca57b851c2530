/* Every rank is in a call that never completes, and would stay in the program
 * for ever afterwards. */
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
