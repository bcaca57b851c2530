// All ranks wait for all others in a fence and in a get, at most for the number
// of seconds in the argument. Each rank is expected to send a heartbeat each
// second meanwhile, and none does.
#include "pmix_check.h"

static void on_alert(size_t id, pmix_status_t code, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                     size_t nresults, pmix_event_notification_cbfunc_fn_t next,
                     void *next_data) {
  (void)id, (void)source, (void)info, (void)ninfo, (void)results,
      (void)nresults;
  printf("alert\n");
  fflush(stdout);
  next(code, NULL, 0, NULL, NULL, next_data);
}

static void monitor(void) {
  pmix_status_t code = PMIX_MONITOR_HEARTBEAT_ALERT;
  pmix_info_t what, often, *results = NULL;
  size_t nresults = 0;
  uint32_t seconds = 1;
  int id = PMIx_Register_event_handler(&code, 1, NULL, 0, on_alert, NULL, NULL);
  if (id < 0) check(id, "handler");
  PMIX_INFO_LOAD(&what, PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER);
  PMIX_INFO_LOAD(&often, PMIX_MONITOR_HEARTBEAT_TIME, &seconds, PMIX_UINT32);
  check(PMIx_Process_monitor(&what, PMIX_MONITOR_HEARTBEAT_ALERT, &often, 1,
                             &results, &nresults),
        "monitor");
}

int main(int argc, char **argv) {
  pmix_info_t limit;
  pmix_proc_t first;
  pmix_value_t *value = NULL;
  int seconds = argc > 1 ? atoi(argv[1]) : 2;
  check(PMIx_Init(&self, NULL, 0), "init");
  if (self.rank != 0) monitor();
  printf("up\n");
  fflush(stdout);
  PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
  if (self.rank == 0) publish("key", 7);
  if (self.rank == 1) {
    first = self;
    first.rank = 0;
    check(PMIx_Get(&first, "key", &limit, 1, &value), "get");
    PMIX_VALUE_RELEASE(value);
  }
  check(PMIx_Fence(NULL, 0, &limit, 1), "fence");
  printf("together\n");
  return PMIx_Finalize(NULL, 0) != PMIX_SUCCESS;
}
