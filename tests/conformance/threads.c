// Several threads at once: puts, gets, fences of different sets, callbacks.
#include "check.h"

enum { kThreads = 6, kRounds = 40 };

typedef struct {
  int number;
  pthread_t thread;
} Worker;

static void KeyFor(char *key, int thread, int round) {
  snprintf(key, 64, "thread.%d.%d", thread, round);
}

// Posts data, then requests the data of the same thread of the next rank.
static void Exchange(int thread, int round) {
  char key[64];
  KeyFor(key, thread, round);
  PutU32(PMIX_GLOBAL, key, (uint32_t)(round * 100 + thread));
  OK(PMIx_Commit());
  const pmix_proc_t next =
      ProcOf((g_self.rank + 1 + (pmix_rank_t)thread) % g_size);
  const uint32_t got = MustGetNumber(&next, key, NULL, PMIX_UINT32);
  CHECK(got == (uint32_t)(round * 100 + thread), "%s is %u", key, got);
  const uint32_t size = MustGetNumber(&g_job, PMIX_JOB_SIZE, NULL, PMIX_UINT32);
  CHECK(size == g_size, "the job has %u processes", size);
}

// Each thread has a set of its own, a list with different members and order.
static size_t SetOf(int thread, pmix_proc_t *set) {
  const pmix_rank_t step = (pmix_rank_t)thread + 1;
  size_t count = 0;
  for (pmix_rank_t rank = 0; rank < g_size; rank += step) {
    set[count++] = ProcOf(rank);
  }
  return g_self.rank % step == 0 ? count : 0;
}

static void *Work(void *argument) {
  const Worker *worker = argument;
  pmix_proc_t set[64];
  const size_t count = SetOf(worker->number, set);
  Signal fences = SIGNAL_INIT;
  int started = 0;
  for (int round = 0; round < kRounds; ++round) {
    Exchange(worker->number, round);
    if (count == 0) continue;
    if (round % 2 == 0) {
      OK(PMIx_Fence(set, count, NULL, 0));
    } else {
      const Directives collect = Flag(PMIX_COLLECT_DATA);
      OK(PMIx_Fence_nb(set, count, collect.info, collect.count, RaiseOp,
                       &fences));
      OK(WaitFor(&fences, ++started));
    }
  }
  return NULL;
}

static void *Quick(void *argument) {
  (void)argument;
  for (int i = 0; i < 200; ++i) {
    pmix_proc_t self;
    OK(PMIx_Init(&self, NULL, 0));
    CHECK(self.rank == g_self.rank, "rank %u", self.rank);
    CHECK(PMIx_Initialized(), "not initialized");
    OK(PMIx_Finalize(NULL, 0));
  }
  return NULL;
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(g_size <= 64, "at most 64 ranks");
  static Worker workers[kThreads];
  pthread_t quick;
  for (int i = 0; i < kThreads; ++i) {
    workers[i].number = i;
    CHECK(pthread_create(&workers[i].thread, NULL, Work, &workers[i]) == 0,
          "no thread");
  }
  CHECK(pthread_create(&quick, NULL, Quick, NULL) == 0, "no thread");
  for (int i = 0; i < kThreads; ++i) pthread_join(workers[i].thread, NULL);
  pthread_join(quick, NULL);
  Barrier();
  return Finish();
}
