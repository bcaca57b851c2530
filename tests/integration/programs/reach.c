/* Tries to reach a job of another user. Usage: reach NAMESPACE
 *
 * Prints the status of each attempt: a get of data of rank 0, an abort of the
 * job, a termination by job control, and a look-up of the key "color". Then
 * sends an event to all jobs. */
#include <string.h>

#include "pmix_check.h"

static pmix_proc_t target;

static void report(const char *what, int status) {
  printf("%s: %s\n", what, PMIx_Error_string(status));
}

static int get_color(void) {
  pmix_value_t *value = NULL;
  pmix_info_t limit;
  const int seconds = 10;
  PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
  const int rc = PMIx_Get(&target, "color", &limit, 1, &value);
  if (value != NULL) PMIX_VALUE_RELEASE(value);
  return rc;
}

static int terminate(void) {
  pmix_info_t directive;
  bool yes = true;
  PMIX_INFO_LOAD(&directive, PMIX_JOB_CTRL_KILL, &yes, PMIX_BOOL);
  return PMIx_Job_control(&target, 1, &directive, 1, NULL, NULL);
}

static int look_up(void) {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  strcpy(data.key, "color");
  return PMIx_Lookup(&data, 1, NULL, 0);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  PMIX_PROC_LOAD(&target, argv[1], 0);
  check(PMIx_Init(&self, NULL, 0), "init");
  report("get", get_color());
  target.rank = PMIX_RANK_WILDCARD;
  report("control", terminate());
  report("abort", PMIx_Abort(1, "reached", &target, 1));
  report("lookup", look_up());
  report("event", PMIx_Notify_event(PMIX_ERR_JOB_ABORTED, &self,
                                    PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
