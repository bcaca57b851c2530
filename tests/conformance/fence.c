// PMIx_Fence and PMIx_Fence_nb: fences of the whole job, of sub-sets and of
// explicit lists, of several overlapping sets at once, several pending fences,
// with and without data.
#include "check.h"

static uint32_t g_round;

static bool In(const pmix_proc_t *set, size_t count, pmix_rank_t rank) {
  for (size_t i = 0; i < count; ++i) {
    if (set[i].rank == rank || set[i].rank == PMIX_RANK_WILDCARD) return true;
  }
  return false;
}

// Sets the ranks FROM, FROM + STEP, ... below the job's size.
static size_t Range(pmix_proc_t *set, pmix_rank_t from, pmix_rank_t step) {
  size_t count = 0;
  for (pmix_rank_t rank = from; rank < g_size; rank += step) {
    set[count++] = ProcOf(rank);
  }
  return count;
}

// A fence is a barrier: after it, all members have arrived. The data that each
// member committed before is present after a fence that collects.
static void RoundOf(const pmix_proc_t *set, size_t count, bool collect) {
  char key[64];
  ++g_round;
  if (count > 0 && !In(set, count, g_self.rank)) return;
  snprintf(key, sizeof(key), "round.%u", g_round);
  PutU32(PMIX_GLOBAL, key, g_round * 100 + g_self.rank);
  OK(PMIx_Commit());
  Directives with = {.count = 0};
  AddFlag(&with, PMIX_COLLECT_DATA, collect);
  OK(PMIx_Fence(count == 0 ? NULL : set, count, with.info, with.count));
  const Directives optional = Flag(PMIX_OPTIONAL);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (count > 0 && !In(set, count, rank)) continue;
    const pmix_proc_t peer = ProcOf(rank);
    const uint32_t got =
        MustGetNumber(&peer, key, collect ? &optional : NULL, PMIX_UINT32);
    CHECK(got == g_round * 100 + rank, "%s of rank %u is %u", key, rank, got);
  }
}

static void Sets(bool collect) {
  pmix_proc_t set[64];
  RoundOf(NULL, 0, collect);
  RoundOf(&g_job, 1, collect);  // rank wildcard
  RoundOf(set, Range(set, 0, 1), collect);
  RoundOf(set, Range(set, 0, 2), collect);
  RoundOf(set, Range(set, 1, 2), collect);
  RoundOf(set, Range(set, g_size / 2, 1), collect);
  set[0] = ProcOf(g_size - 1);
  set[1] = ProcOf(0);
  RoundOf(set, 2, collect);
  set[0] = ProcOf(g_self.rank);  // each process alone
  RoundOf(set, 1, collect);
  const pmix_rank_t pair = g_self.rank / 2 * 2;  // all pairs at once
  set[0] = ProcOf(pair);
  set[1] = ProcOf(pair + 1);
  RoundOf(set, 2, collect);
}

// No member may pass before the last member has arrived. The last rank counts
// to ten in direct modex with rank 0 before it arrives.
static void NobodyPassesEarly(void) {
  const pmix_rank_t last = g_size - 1;
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  const pmix_proc_t late = ProcOf(last);
  if (g_self.rank == last) {
    for (uint32_t i = 0; i < 10; ++i) {
      char key[64];
      snprintf(key, sizeof(key), "count.%u", i);
      const pmix_proc_t first = ProcOf(0);
      (void)MustGetNumber(&first, key, NULL, PMIX_UINT32);
    }
    PutU32(PMIX_GLOBAL, "came", 1);
    OK(PMIx_Commit());
    FenceCollect();
    return;
  }
  Signal done = SIGNAL_INIT;
  const Directives collect = Flag(PMIX_COLLECT_DATA);
  for (uint32_t i = 0; g_self.rank == 0 && i < 10; ++i) {
    char key[64];
    if (i == 5) {
      OK(PMIx_Fence_nb(NULL, 0, collect.info, collect.count, RaiseOp, &done));
      CHECK(CountOf(&done) == 0, "passed a fence that rank %u has not reached",
            last);
    }
    snprintf(key, sizeof(key), "count.%u", i);
    PutU32(PMIX_GLOBAL, key, i);
    OK(PMIx_Commit());
  }
  if (g_self.rank != 0) {
    OK(PMIx_Fence_nb(NULL, 0, collect.info, collect.count, RaiseOp, &done));
  }
  OK(WaitFor(&done, 1));
  CHECK(MustGetNumber(&late, "came", &immediate, PMIX_UINT32) == 1,
        "another value");
}

// Sets overlap and are entered in an order that differs from rank to rank. Only
// fences of the same set wait for each other.
static void Overlapping(void) {
  enum { kSets = 6 };
  static pmix_proc_t sets[kSets][64];
  size_t counts[kSets];
  Signal done[kSets];
  counts[0] = Range(sets[0], 0, 1);
  counts[1] = Range(sets[1], 0, 2);
  counts[2] = Range(sets[2], 1, 2);
  counts[3] = Range(sets[3], 0, 3);
  counts[4] = Range(sets[4], g_size / 2, 1);
  sets[5][0] = g_job;
  counts[5] = 1;
  for (int i = 0; i < kSets; ++i) {
    done[i] = (Signal)SIGNAL_INIT;
  }
  for (uint32_t k = 0; k < kSets; ++k) {
    const uint32_t i = (k * 5 + g_self.rank) % kSets;
    if (!In(sets[i], counts[i], g_self.rank)) continue;
    OK(PMIx_Fence_nb(sets[i], counts[i], NULL, 0, RaiseOp, &done[i]));
  }
  for (uint32_t i = 0; i < kSets; ++i) {
    if (!In(sets[i], counts[i], g_self.rank)) continue;
    OK(WaitFor(&done[i], 1));
    CHECK(CountOf(&done[i]) == 1, "set %u completed twice", i);
  }
}

// Several fences of one set run at once: the n-th fence of one rank is the n-th
// fence of all ranks.
static void Outstanding(void) {
  enum { kFences = 20 };
  static Signal done[kFences];
  for (int i = 0; i < kFences; ++i) {
    const Directives collect = Flag(PMIX_COLLECT_DATA);
    char key[64];
    done[i] = (Signal)SIGNAL_INIT;
    snprintf(key, sizeof(key), "outstanding.%d", i);
    PutU32(PMIX_GLOBAL, key, (uint32_t)i);
    OK(PMIx_Commit());
    OK(PMIx_Fence_nb(NULL, 0, collect.info, collect.count, RaiseOp, &done[i]));
  }
  const Directives optional = Flag(PMIX_OPTIONAL);
  for (int i = 0; i < kFences; ++i) {
    char key[64];
    snprintf(key, sizeof(key), "outstanding.%d", i);
    OK(WaitFor(&done[i], 1));
    for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
      const pmix_proc_t peer = ProcOf(rank);
      CHECK(MustGetNumber(&peer, key, &optional, PMIX_UINT32) == (uint32_t)i,
            "%s", key);
    }
  }
}

// Without PMIX_COLLECT_DATA no data is exchanged.
static void NothingCollected(void) {
  PutU32(PMIX_GLOBAL, "stays", 1);
  OK(PMIx_Commit());
  Barrier();
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    if (!IsLocal(rank)) {
      MustFail(PMIX_ERR_NOT_FOUND, &peer, "stays", &immediate);
    }
  }
  Barrier();
}

static void JobInfo(void) {
  Directives with = Flag(PMIX_COLLECT_DATA);
  AddFlag(&with, PMIX_COLLECT_GENERATED_JOB_INFO, true);
  OK(PMIx_Fence(NULL, 0, with.info, with.count));
  PMIX_INFO_REQUIRED(&with.info[1]);
  OK(PMIx_Fence(NULL, 0, with.info, with.count));
  with.info[1].value.data.flag = false;
  OK(PMIx_Fence(NULL, 0, with.info, with.count));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(g_size % 2 == 0 && g_size <= 64, "for an even number of ranks");
  Sets(true);
  Sets(false);
  NobodyPassesEarly();
  Overlapping();
  Outstanding();
  NothingCollected();
  JobInfo();
  Barrier();
  return Finish();
}
