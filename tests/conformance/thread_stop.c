// PMIx_Progress_thread_stop: no callback runs afterwards, and blocking calls
// still work.
#include "check.h"

// Older headers lack this function and its attributes.
void PMIx_Progress_thread_stop(const pmix_info_t *info, size_t ninfo);
#ifndef PMIX_PROGRESS_THREAD_NAME
#define PMIX_PROGRESS_THREAD_NAME "pmix.pthrdnm"
#define PMIX_PROGRESS_THREAD_FLUSH "pmix.evflush"
#endif

static Signal g_fences = SIGNAL_INIT;

static void Stop(const char *name) {
  Directives with = {.count = 0};
  AddText(&with, PMIX_PROGRESS_THREAD_NAME, name);
  AddFlag(&with, PMIX_PROGRESS_THREAD_FLUSH, true);
  PMIx_Progress_thread_stop(with.info, with.count);
}

int main(int argc, char **argv) {
  PMIx_Progress_thread_stop(NULL, 0);
  Start(argc, argv);
  OK(PMIx_Fence_nb(NULL, 0, NULL, 0, RaiseOp, &g_fences));
  EXPECT(PMIX_SUCCESS, WaitFor(&g_fences, 1));
  Stop("another thread");
  OK(PMIx_Fence_nb(NULL, 0, NULL, 0, RaiseOp, &g_fences));
  EXPECT(PMIX_SUCCESS, WaitFor(&g_fences, 2));
  if (g_self.rank % 2 == 0) Stop("pmix-progress");
  if (g_self.rank % 2 == 1) PMIx_Progress_thread_stop(NULL, 0);
  PMIx_Progress_thread_stop(NULL, 0);
  PutU32(PMIX_GLOBAL, "still", g_self.rank);
  OK(PMIx_Commit());
  FenceCollect();
  const pmix_proc_t next = ProcOf((g_self.rank + 1) % g_size);
  CHECK(MustGetNumber(&next, "still", NULL, PMIX_UINT32) == next.rank,
        "another value");
  Barrier();
  CHECK(CountOf(&g_fences) == 2, "%d callbacks", CountOf(&g_fences));
  return Finish();
}
