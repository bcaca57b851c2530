// PMIx_Abort. WORD: "all" (the last rank ends the whole job), "wildcard" (it
// does so with the wildcard rank), "part" (rank 0 ends the upper half, and the
// rest continues), "self" (a rank ends only itself), "refused" (calls with
// wrong arguments end no process).
#include "check.h"

static const int kStatus = 23;

static void WaitForEver(void) {
  for (;;) pause();
}

// Does not return, because the caller is one of the ended processes.
static void EndAll(pmix_proc_t *procs, size_t count) {
  if (g_self.rank == g_size - 1) {
    PMIx_Abort(kStatus, "told by the test", procs, count);
    CHECK(false, "PMIx_Abort of the caller itself returned");
  }
  WaitForEver();
}

static void EndPart(void) {
  pmix_proc_t upper[64];
  size_t count = 0;
  for (pmix_rank_t rank = g_size / 2; rank < g_size; ++rank) {
    upper[count++] = ProcOf(rank);
  }
  if (g_self.rank >= g_size / 2) WaitForEver();
  if (g_self.rank == 0) OK(PMIx_Abort(kStatus, "only a part", upper, count));
  pmix_proc_t lower[64];
  for (pmix_rank_t rank = 0; rank < g_size / 2; ++rank) {
    lower[rank] = ProcOf(rank);
  }
  OK(PMIx_Fence(lower, g_size / 2, NULL, 0));
}

static void EndSelf(void) {
  if (g_self.rank == 1) {
    PMIx_Abort(kStatus, NULL, &g_self, 1);
    CHECK(false, "PMIx_Abort of the caller itself returned");
  }
  const pmix_proc_t gone = ProcOf(1);
  MustFail(PMIX_ERR_NOT_FOUND, &gone, "never", NULL);
}

static void Refused(void) {
  pmix_proc_t procs[2] = {g_self, g_self};
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Abort(1, "none", NULL, 1));
  procs[1].rank = PMIX_RANK_UNDEF;
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Abort(1, "none", procs, 2));
  procs[1] = g_self;
  procs[1].nspace[0] = '\0';
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Abort(1, "none", procs, 2));
  Barrier();
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(argc > 3, "no word");
  const char *word = argv[3];
  Barrier();
  if (strcmp(word, "all") == 0) EndAll(NULL, 0);
  if (strcmp(word, "wildcard") == 0) EndAll(&g_job, 1);
  if (strcmp(word, "part") == 0) EndPart();
  if (strcmp(word, "self") == 0) EndSelf();
  if (strcmp(word, "refused") == 0) Refused();
  return Finish();
}
