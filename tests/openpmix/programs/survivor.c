/* Waits for data that the last rank never puts. The get must fail; then the
 * program waits for the end of the job. */
#include "check.h"

int main(int argc, char **argv) {
  pmix_value_t *value = NULL;
  begin(argc, argv);
  pmix_proc_t last = rank_of_job(job_size - 1);
  EXPECT(0, PMIx_Get(&last, "never", NULL, 0, &value) == PMIX_SUCCESS);
  for (;;) pause();
}
