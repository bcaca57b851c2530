/* Tests events between processes: namespace, custom range, default handlers,
 * and handlers that were removed. */
#include "check.h"

#define FIRST (-5001)
#define SECOND (-5002)
#define DIRECTED (-5003)

static waiter_t first = WAITER_INIT;
static waiter_t any = WAITER_INIT;
static waiter_t directed = WAITER_INIT;

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                     size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                     void *done_data) {
  (void) id;
  (void) results;
  (void) nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, "payload") == 0 &&
        info[i].value.data.uint32 != source->rank + 100) {
      fail("payload", info[i].value.data.uint32, source->rank + 100);
    }
  }
  if (status == FIRST) wake(&first, status);
  if (status == SECOND) wake(&any, status);
  if (status == DIRECTED) wake(&directed, status);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_data);
}

static size_t handle(pmix_status_t *codes, size_t ncodes) {
  pmix_status_t rc = PMIx_Register_event_handler(codes, ncodes, NULL, 0,
                                                 on_event, NULL, NULL);
  TRUE_(rc >= 0);
  return (size_t) rc;
}

static void notify(pmix_status_t status, pmix_data_range_t range,
                   const pmix_proc_t *target) {
  pmix_info_t info[2];
  uint32_t payload = me.rank + 100;
  PMIX_INFO_LOAD(&info[0], "payload", &payload, PMIX_UINT32);
  if (target != NULL) {
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, target, PMIX_PROC);
  }
  pmix_status_t rc = PMIx_Notify_event(status, &me, range, info,
                                       target == NULL ? 1 : 2, NULL, NULL);
  TRUE_(rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED);
}

int main(int argc, char **argv) {
  pmix_status_t code = FIRST;
  begin(argc, argv);
  size_t id = handle(&code, 1);
  handle(NULL, 0);
  code = DIRECTED;
  handle(&code, 1);
  fence(0);
  /* Every rank notifies all ranks, including itself. */
  notify(FIRST, PMIX_RANGE_NAMESPACE, NULL);
  EXPECT(FIRST, wait_for(&first, (int) job_size));
  fence(0);
  if (me.rank == 0) notify(SECOND, PMIX_RANGE_GLOBAL, NULL);
  EXPECT(SECOND, wait_for(&any, 1));
  fence(0);
  pmix_proc_t next = rank_of_job((me.rank + 1) % job_size);
  notify(DIRECTED, PMIX_RANGE_CUSTOM, &next);
  EXPECT(DIRECTED, wait_for(&directed, 1));
  fence(0);
  EXPECT(1, directed.done);
  OK(PMIx_Deregister_event_handler(id, NULL, NULL));
  fence(0);
  EXPECT((int) job_size, first.done);
  return end("events");
}
