/* Sleeps, and prints warnings that its time is nearly over (the event
 * PMIX_ALLOC_TIMEOUT_WARNING, which older headers do not name). */
#include <pmix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kTimeoutWarning = -194, kMostSeconds = 600 };

static void warned(size_t handler, pmix_status_t status,
                   const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t *results, size_t nresults,
                   pmix_event_notification_cbfunc_fn_t next, void *data) {
  (void)handler, (void)source, (void)results, (void)nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, PMIX_TIME_REMAINING) == 0) {
      printf("warned of %d: %u left\n", status, info[i].value.data.uint32);
    }
  }
  fflush(stdout);
  if (next != NULL) next(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

int main(void) {
  pmix_proc_t self;
  pmix_status_t code = kTimeoutWarning;
  if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 2;
  if (PMIx_Register_event_handler(&code, 1, NULL, 0, warned, NULL, NULL) < 0) {
    return 2;
  }
  printf("rank %u waits\n", self.rank);
  fflush(stdout);
  for (int i = 0; i < kMostSeconds; ++i) sleep(1);
  return 0;
}
