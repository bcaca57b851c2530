/* The end of one job, for tools that wait for it. */
#ifndef CANOPY_TESTS_CONFORMANCE_JOB_END_H_
#define CANOPY_TESTS_CONFORMANCE_JOB_END_H_

#include <string.h>

#include "check.h"

static Signal g_ended = SIGNAL_INIT;
static pmix_nspace_t g_ends;  // the watched job

static void OnEnd(size_t id, pmix_status_t status, const pmix_proc_t *source,
                  pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                  size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                  void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) &&
        strcmp(info[i].value.data.proc->nspace, g_ends) == 0) {
      Raise(&g_ended, status);
    }
  }
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* Raises g_ended once for each event of the job's end. */
static inline void WatchEnd(const char *nspace) {
  pmix_status_t code = PMIX_EVENT_JOB_END;
  PMIX_LOAD_NSPACE(g_ends, nspace);
  const pmix_status_t id =
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnEnd, NULL, NULL);
  CHECK(id >= 0, "registration gave %d", id);
}

/* Ends the watched job, and waits for its event. */
static inline void KillWatched(void) {
  pmix_proc_t job;
  pmix_info_t *results = NULL;
  size_t count = 0;
  Directives kill = Flag(PMIX_JOB_CTRL_KILL);
  PMIX_PROC_LOAD(&job, g_ends, PMIX_RANK_WILDCARD);
  OK(PMIx_Job_control(&job, 1, kill.info, kill.count, &results, &count));
  WaitFor(&g_ended, 1);
}

#endif  // CANOPY_TESTS_CONFORMANCE_JOB_END_H_
