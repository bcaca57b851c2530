/* The last rank is killed during the operation in argument 2, while the others
 * are in the same operation or wait for it. None of them may hang. */
#include <signal.h>

#include "check.h"

static void *killer(void *unused) {
  (void) unused;
  usleep(100000);
  raise(SIGKILL);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t thread;
  pmix_value_t *value = NULL;
  begin(argc, argv);
  const char *what = argc > 2 ? argv[2] : "fence";
  pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
  pmix_proc_t last = rank_of_job(job_size - 1);
  fence(0);
  if (me.rank == job_size - 1) {
    pthread_create(&thread, NULL, killer, NULL);
    if (strcmp(what, "get") == 0) {
      pmix_proc_t first = rank_of_job(0);
      (void) PMIx_Get(&first, "never", NULL, 0, &value);
    } else if (strcmp(what, "commit") == 0) {
      for (uint64_t i = 0;; ++i) {
        put_u64("again", i);
        OK(PMIx_Commit());
      }
    } else if (strcmp(what, "notify") == 0) {
      for (;;) {
        (void) PMIx_Notify_event(-5000, &me, PMIX_RANGE_GLOBAL, NULL, 0, NULL,
                                 NULL);
      }
    } else if (strcmp(what, "query") == 0) {
      for (;;) {
        pmix_query_t query;
        pmix_info_t *results;
        size_t count;
        pmix_status_t rc;
        PMIX_QUERY_CONSTRUCT(&query);
        PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
        OK(rc);
        OK(PMIx_Query_info(&query, 1, &results, &count));
      }
    }
    for (;;) pause();
  }
  if (strcmp(what, "fence") == 0) {
    EXPECT(0, PMIx_Fence(NULL, 0, NULL, 0) == PMIX_SUCCESS);
  } else if (strcmp(what, "connect") == 0) {
    EXPECT(0, PMIx_Connect(&all, 1, NULL, 0) == PMIX_SUCCESS);
  } else {
    EXPECT(0, PMIx_Get(&last, "never", NULL, 0, &value) == PMIX_SUCCESS);
  }
  /* The job's policy ends the remaining ranks. */
  for (;;) pause();
}
