// PMIx_Init with PMIX_EXTERNAL_PROGRESS: callbacks run only in PMIx_Progress.
// Also tests models that a process declares at PMIx_Init.
#include <sched.h>

#include "models.h"

static pthread_t g_main;
static volatile bool g_inside;
static volatile int g_calls;

static void Called(void) {
  CHECK(pthread_equal(g_main, pthread_self()), "called by another thread");
  CHECK(g_inside, "called outside of PMIx_Progress");
  ++g_calls;
}

static void OnFence(pmix_status_t status, void *cbdata) {
  (void)cbdata;
  CHECK(status == PMIX_SUCCESS, "the fence: %s", PMIx_Error_string(status));
  Called();
  PMIx_Progress();  // INIT-17: a call inside its own callback returns
}

static void OnValue(pmix_status_t status, pmix_value_t *value, void *cbdata) {
  CHECK(status == PMIX_SUCCESS, "the get: %s", PMIx_Error_string(status));
  *(uint32_t *)cbdata = value->data.uint32;
  Called();
}

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  Called();
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void ProgressUntil(int calls) {
  while (g_calls < calls) {
    g_inside = true;
    PMIx_Progress();
    g_inside = false;
    sched_yield();
  }
}

static void OnModel(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  CHECK(status == PMIX_MODEL_DECLARED, "%s", PMIx_Error_string(status));
  ReportsTestModel(info, ninfo);
  Called();
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

// A handler of the first programming model is notified of the second model.
static void Model(void) {
  pmix_status_t code = PMIX_MODEL_DECLARED;
  CHECK(
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnModel, NULL, NULL) >= 0,
      "not registered");
  Directives model = TestModel();
  OK(PMIx_Init(NULL, model.info, model.count));
  ProgressUntil(g_calls + 1);
  OK(PMIx_Finalize(NULL, 0));
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  g_main = pthread_self();
  Directives external = Flag(PMIX_EXTERNAL_PROGRESS);
  PMIX_INFO_REQUIRED(&external.info[0]);
  OK(PMIx_Init(&g_self, external.info, external.count));
  g_job = ProcOf(PMIX_RANK_WILDCARD);
  // Blocking calls need no progress calls.
  CHECK(MustGetNumber(&g_job, PMIX_JOB_SIZE, NULL, PMIX_UINT32) == g_size,
        "another size");
  PutU32(PMIX_GLOBAL, "number", 8 + g_self.rank);
  OK(PMIx_Commit());
  Barrier();
  CHECK(g_calls == 0, "%d callbacks", g_calls);

  const pmix_proc_t next = ProcOf((g_self.rank + 1) % g_size);
  uint32_t number = 0;
  pmix_status_t code = -30001;
  OK(PMIx_Get_nb(&next, "number", NULL, 0, OnValue, &number));
  OK(PMIx_Fence_nb(NULL, 0, NULL, 0, OnFence, NULL));
  CHECK(
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnEvent, NULL, NULL) >= 0,
      "not registered");
  OK(PMIx_Notify_event(code, NULL, PMIX_RANGE_PROC_LOCAL, NULL, 0, NULL, NULL));
  ProgressUntil(3);
  CHECK(number == 8 + next.rank, "number %u", number);
  Model();
  Barrier();
  return Finish();
}
