// What is not there says so: at once, without a callback, and without harm.
#include <pmix_tool.h>

#include "check.h"

static Signal g_called = SIGNAL_INIT;

static void OnOp(pmix_status_t status, void *cbdata) {
  RaiseOp(status, cbdata);
}

#define REFUSED(call) EXPECT(PMIX_ERR_NOT_SUPPORTED, call)

static void OnOutput(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source,
                     pmix_byte_object_t *payload, pmix_info_t info[],
                     size_t ninfo) {
  (void)id, (void)channel, (void)source, (void)payload, (void)info, (void)ninfo;
  Raise(&g_called, PMIX_SUCCESS);
}

static void Tools(void) {
  pmix_byte_object_t bytes = {"text", 4};
  REFUSED(PMIx_IOF_pull(&g_job, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, OnOutput,
                        NULL, NULL));
  REFUSED(PMIx_IOF_push(&g_job, 1, &bytes, NULL, 0, OnOp, &g_called));
  REFUSED(PMIx_IOF_deregister(0, NULL, 0, OnOp, &g_called));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Tools();
  // All is well afterwards.
  PutU32(PMIX_GLOBAL, "still", g_self.rank);
  OK(PMIx_Commit());
  FenceCollect();
  const pmix_proc_t next = ProcOf((g_self.rank + 1) % g_size);
  CHECK(MustGetNumber(&next, "still", NULL, PMIX_UINT32) == next.rank,
        "another value");
  CHECK(CountOf(&g_called) == 0, "%d callbacks of calls that were refused",
        CountOf(&g_called));
  return Finish();
}
