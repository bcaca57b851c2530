// Fences over the whole job that overlap in one process: no rank leaves a fence
// before all ranks have arrived, in each combination of kinds of fences. Ranks
// run on one machine, so that their clocks agree.
#include <time.h>

#include "check.h"

enum { kRounds = 60, kPlain = 3 };

static uint64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// The time from just before the fence of a round until just after the fence.
typedef struct {
  uint64_t came, left;
} Stay;

static Stay FenceOnce(const Directives *directives) {
  Stay stay;
  stay.came = Now();
  OK(PMIx_Fence(NULL, 0, directives == NULL ? NULL : directives->info,
                directives == NULL ? 0 : directives->count));
  stay.left = Now();
  return stay;
}

// All ranks exchange the times of their arrival and departure.
static void Compare(const char *what, int round, Stay stay) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = (char *)&stay;
  value.data.bo.size = sizeof(stay);
  OK(PMIx_Put(PMIX_GLOBAL, "stay", &value));
  OK(PMIx_Commit());
  const Directives collect = Flag(PMIX_COLLECT_DATA);
  OK(PMIx_Fence(NULL, 0, collect.info, collect.count));
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    pmix_value_t *got = MustGet(&peer, "stay", NULL, PMIX_BYTE_OBJECT);
    Stay other;
    CHECK(got->data.bo.size == sizeof(other), "%zu bytes", got->data.bo.size);
    memcpy(&other, got->data.bo.bytes, sizeof(other));
    PMIX_VALUE_RELEASE(got);
    CHECK(other.came <= stay.left,
          "%s, round %d: left %llu ns before rank %u came", what, round,
          (unsigned long long)(other.came - stay.left), rank);
  }
  Barrier();
}

// A non-blocking fence is pending when a blocking fence begins.
static void AfterOneThatDoesNotWait(int round, Signal *done) {
  OK(PMIx_Fence_nb(NULL, 0, NULL, 0, RaiseOp, done));
  // The delay lets ranks arrive at the second fence one after the other.
  for (uint32_t i = 0; i < g_self.rank * 200000; ++i) {
    __asm__ volatile("" ::: "memory");
  }
  const Stay stay = FenceOnce(NULL);
  OK(WaitFor(done, round + 1));
  Compare("after Fence_nb", round, stay);
}

static void *OtherThread(void *unused) {
  (void)unused;
  OK(PMIx_Fence(NULL, 0, NULL, 0));
  return NULL;
}

// Two threads of each rank fence at the same time. Both fences must end.
static void TwoThreads(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, OtherThread, NULL) == 0, "no thread");
  OK(PMIx_Fence(NULL, 0, NULL, 0));
  CHECK(pthread_join(thread, NULL) == 0, "no end");
}

int main(int argc, char **argv) {
  Start(argc, argv);
  const Directives limit = Timeout(30);
  Signal done = SIGNAL_INIT;
  Barrier();
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kPlain; ++i) OK(PMIx_Fence(NULL, 0, NULL, 0));
    AfterOneThatDoesNotWait(round, &done);
    const bool limited = (g_self.rank + (uint32_t)round) % 3 == 0;
    Compare("some with a limit", round, FenceOnce(limited ? &limit : NULL));
    TwoThreads();
  }
  return Finish();
}
