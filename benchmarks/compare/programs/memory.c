/* memory [SECONDS]: reports the private memory that PMIx adds to a process, in
 * kilobytes: the memory after initialisation, a fence and a look-up, minus the
 * memory before. Afterwards all ranks wait SECONDS. */
#include <pmix.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

static long PrivateKb(void) {
  char line[256];
  long total = 0;
  long value;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "Private_Dirty: %ld", &value) == 1) total += value;
  }
  fclose(file);
  return total;
}

int main(int argc, char **argv) {
  pmix_proc_t me;
  pmix_proc_t job;
  pmix_value_t *value = NULL;
  long before;
  (void)PrivateKb(); /* the first call itself takes memory */
  before = PrivateKb();
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  Require(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), "PMIx_Get");
  PMIX_VALUE_RELEASE(value);
  Report("private_kb", (double)(PrivateKb() - before));
  fflush(stdout);
  if (argc > 1) sleep((unsigned)atoi(argv[1]));
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  return PMIx_Finalize(NULL, 0);
}
