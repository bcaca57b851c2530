// Failures of fences: wrong arguments, directives that cannot be honoured,
// timeouts, members that left, unknown namespaces. No fence may wait for ever.
// The last rank leaves early.
#include <time.h>

#include "check.h"

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void WrongArguments(void) {
  pmix_proc_t set[2] = {ProcOf((g_self.rank + 1) % g_size),
                        ProcOf((g_self.rank + 2) % g_size)};
  Signal done = SIGNAL_INIT;
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(NULL, 1, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(NULL, 0, NULL, 1));
  // This process is not among the participants.
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(set, 2, NULL, 0));
  set[0] = g_self;
  set[1] = ProcOf(g_size);  // no such rank
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(set, 2, NULL, 0));
  set[1] = ProcOf(PMIX_RANK_UNDEF);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(set, 2, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence_nb(set, 0, NULL, 1, RaiseOp, &done));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence_nb(NULL, 1, NULL, 0, RaiseOp, &done));
  Directives negative = Timeout(-1);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Fence(NULL, 0, negative.info, 1));
  Barrier();
  CHECK(CountOf(&done) == 0, "a fence that was refused called back");
  OK(PMIx_Fence_nb(set, 2, NULL, 0, RaiseOp, &done));
  EXPECT(PMIX_ERR_BAD_PARAM, WaitFor(&done, 1));
}

static void Unsupported(void) {
  Directives unknown = Flag("canopy.test.unknown");
  AddFlag(&unknown, PMIX_COLLECT_DATA, true);
  OK(PMIx_Fence(NULL, 0, unknown.info, unknown.count));
  Signal done = SIGNAL_INIT;
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Fence(NULL, 0, unknown.info, unknown.count));
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Fence_nb(NULL, 0, unknown.info, unknown.count, RaiseOp, &done));
  Directives clones = Flag(PMIX_ALL_CLONES_PARTICIPATE);
  PMIX_INFO_REQUIRED(&clones.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Fence(NULL, 0, clones.info, clones.count));
  Barrier();
  CHECK(CountOf(&done) == 0, "a fence that was refused called back");
}

static void UnknownNamespace(void) {
  pmix_proc_t set[2] = {g_job, g_job};
  PMIX_LOAD_NSPACE(set[1].nspace, "no-such-job");
  const Directives limit = Timeout(20);
  const double begin = Seconds();
  const pmix_status_t status = PMIx_Fence(set, 2, limit.info, limit.count);
  CHECK(status == PMIX_ERR_NOT_FOUND, "a fence with an unknown job: %s",
        PMIx_Error_string(status));
  CHECK(Seconds() - begin < 10, "known after %.1f s", Seconds() - begin);
  Barrier();
}

// All ranks but one arrive, with a time limit. A rank that arrives later learns
// how the fence ended, and the next fence is in step again.
static void TimesOut(void) {
  const Directives limit = Timeout(1);
  const pmix_rank_t missing = g_size / 2;
  if (g_self.rank != missing) {
    const double begin = Seconds();
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Fence(&g_job, 1, limit.info, limit.count));
    CHECK(Seconds() - begin > 0.5, "after %.3f s", Seconds() - begin);
  }
  pmix_proc_t everyone[64];
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    everyone[rank] = ProcOf(rank);
  }
  OK(PMIx_Fence(everyone, g_size, NULL, 0));  // a different set
  if (g_self.rank == missing) {
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Fence(&g_job, 1, NULL, 0));
  }
  const Directives enough = Timeout(30);
  OK(PMIx_Fence(&g_job, 1, enough.info, enough.count));
  OK(PMIx_Fence(&g_job, 1, NULL, 0));
}

// The last rank finalizes and ends. Fences of the others fail, although they
// have no time limit.
static int OneLeaves(void) {
  pmix_proc_t set[64];
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) set[rank] = ProcOf(rank);
  if (g_self.rank == g_size - 1) return Finish();
  Signal done = SIGNAL_INIT;
  OK(PMIx_Fence_nb(set, g_size, NULL, 0, RaiseOp, &done));
  EXPECT(PMIX_ERR_PROC_TERM_WO_SYNC, WaitFor(&done, 1));
  // The same holds long after the last rank has ended.
  EXPECT(PMIX_ERR_PROC_TERM_WO_SYNC, PMIx_Fence(set, g_size, NULL, 0));
  EXPECT(PMIX_ERR_PROC_TERM_WO_SYNC, PMIx_Fence(NULL, 0, NULL, 0));
  // Data that the last rank never posted cannot arrive any more; its other data
  // is available.
  const pmix_proc_t gone = ProcOf(g_size - 1);
  MustFail(PMIX_ERR_NOT_FOUND, &gone, "never", NULL);
  char *posted = MustGetText(&gone, "posted", NULL);
  CHECK(strcmp(posted, "before it left") == 0, "%s", posted);
  free(posted);
  OK(PMIx_Fence(set, g_size - 1, NULL, 0));
  return Finish();
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(g_size >= 4 && g_size <= 64, "needs 4 to 64 ranks");
  WrongArguments();
  Unsupported();
  UnknownNamespace();
  TimesOut();
  PutText(PMIX_GLOBAL, "posted", "before it left");
  OK(PMIx_Commit());
  Barrier();
  return OneLeaves();
}
