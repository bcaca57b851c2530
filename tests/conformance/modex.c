// Retrieval of posted keys: direct modex that waits for the commit,
// PMIX_IMMEDIATE, PMIX_OPTIONAL, PMIX_TIMEOUT, PMIX_GET_REFRESH_CACHE,
// undefined and wildcard ranks. No fence is needed.
#include <time.h>

#include "check.h"

typedef struct {
  Signal done;
  uint32_t number;
} Answer;

static Answer NoAnswer(void) {
  const Answer answer = {SIGNAL_INIT, 0};
  return answer;
}

static void OnValue(pmix_status_t status, pmix_value_t *value, void *cbdata) {
  Answer *answer = cbdata;
  if (status == PMIX_SUCCESS) answer->number = NumberOf("answer", value);
  Raise(&answer->done, status);
}

static pmix_rank_t After(pmix_rank_t rank) { return (rank + 1) % g_size; }
static pmix_rank_t Before(pmix_rank_t rank) {
  return (rank + g_size - 1) % g_size;
}

static void MustSee(pmix_rank_t rank, const char *key, const Directives *with,
                    uint32_t number) {
  const pmix_proc_t peer = ProcOf(rank);
  const uint32_t got = MustGetNumber(&peer, key, with, PMIX_UINT32);
  CHECK(got == number, "%s of rank %u is %u, not %u", key, rank, got, number);
}

static void MustNotSee(pmix_rank_t rank, const char *key,
                       const Directives *with) {
  const pmix_proc_t peer = ProcOf(rank);
  MustFail(PMIX_ERR_NOT_FOUND, &peer, key, with);
}

static void PutNow(const char *key, uint32_t number) {
  PutU32(PMIX_GLOBAL, key, number);
  OK(PMIx_Commit());
}

// The next rank posts "late" only after the request for it.
static void WaitsForCommit(void) {
  const pmix_proc_t next = ProcOf(After(g_self.rank));
  Answer late = NoAnswer();
  OK(PMIx_Get_nb(&next, "late", NULL, 0, OnValue, &late));
  PutNow("asked", g_self.rank);
  MustSee(Before(g_self.rank), "asked", NULL, Before(g_self.rank));
  PutNow("late", 1000 + g_self.rank);
  EXPECT(PMIX_SUCCESS, WaitFor(&late.done, 1));
  CHECK(late.number == 1000 + next.rank, "late is %u", late.number);
  CHECK(CountOf(&late.done) == 1, "a second callback");
  // A reply holds everything that its process has committed by then, so no
  // process commits more before all have their replies.
  Barrier();
}

// The agent has the keys of processes of its node. Of processes of other nodes,
// the agent has only the keys that were fetched or collected.
static void Immediate(void) {
  PutNow("immediate", 5 + g_self.rank);
  Barrier();
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  const Directives optional = Flag(PMIX_OPTIONAL);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    if (IsLocal(rank)) {
      MustSee(rank, "immediate", &immediate, 5 + rank);
    } else {
      MustNotSee(rank, "immediate", &optional);
      MustNotSee(rank, "immediate", &immediate);
    }
    MustNotSee(rank, "never", &immediate);
    MustNotSee(rank, "never", &optional);
  }
  // The fetch of one process's data serves all processes of the node.
  Barrier();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "immediate", NULL, 5 + rank);
    MustSee(rank, "immediate", &optional, 5 + rank);
  }
  Barrier();
}

static void TimesOut(void) {
  Answer answers[3] = {NoAnswer(), NoAnswer(), NoAnswer()};
  const pmix_proc_t near = ProcOf(Before(g_self.rank));
  const pmix_proc_t other = ProcOf((g_self.rank + g_size / 2) % g_size);
  const pmix_proc_t anyone = ProcOf(PMIX_RANK_UNDEF);
  const Directives second = Timeout(1);
  OK(PMIx_Get_nb(&near, "never", second.info, 1, OnValue, &answers[0]));
  OK(PMIx_Get_nb(&other, "never", second.info, 1, OnValue, &answers[1]));
  OK(PMIx_Get_nb(&anyone, "never", second.info, 1, OnValue, &answers[2]));
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  MustFail(PMIX_ERR_TIMEOUT, &near, "never", &second);
  clock_gettime(CLOCK_MONOTONIC, &after);
  const double seconds = (double)(after.tv_sec - before.tv_sec) +
                         (double)(after.tv_nsec - before.tv_nsec) / 1e9;
  CHECK(seconds > 0.9, "a time-out of 1 s after %.3f s", seconds);
  for (int i = 0; i < 3; ++i) {
    EXPECT(PMIX_ERR_TIMEOUT, WaitFor(&answers[i].done, 1));
  }
  // The data arrives within this limit.
  const Directives long_enough = Timeout(30);
  PutNow("in.time", 7);
  MustSee(After(g_self.rank), "in.time", &long_enough, 7);
  Directives none = {.count = 0};
  AddInt(&none, PMIX_TIMEOUT, 0);
  MustSee(Before(g_self.rank), "in.time", &none, 7);
  Directives wait = {.count = 0};
  AddInt(&wait, PMIX_WAIT, 0);
  MustSee(Before(g_self.rank), "in.time", &wait, 7);
  Barrier();
}

// A refresh replaces the old value.
static void Refresh(void) {
  PutNow("changing", 1);
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "changing", NULL, 1);
  }
  Barrier();
  PutNow("changing", 2);
  PutNow("added", 3);
  Barrier();
  const Directives refresh = Flag(PMIX_GET_REFRESH_CACHE);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "changing", &refresh, 2);
    MustSee(rank, "changing", NULL, 2);
    MustSee(rank, "added", &refresh, 3);
    MustNotSee(rank, "never", &refresh);
  }
  Barrier();
  PutNow("changing", 4);
  Barrier();
  // Gets all values of a process at once.
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    pmix_value_t *value = NULL;
    OK(PMIx_Get(&peer, NULL, refresh.info, refresh.count, &value));
    if (value != NULL) PMIX_VALUE_RELEASE(value);
    MustSee(rank, "changing", NULL, 4);
  }
  pmix_value_t *value = NULL;
  OK(PMIx_Get(&g_job, NULL, refresh.info, refresh.count, &value));
  if (value != NULL) PMIX_VALUE_RELEASE(value);
  Barrier();
  PutNow("changing", 5);
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    MustSee(rank, "changing", NULL, 5);
  }
  Barrier();
}

// Requests a key without a rank. Only one process has the key.
static void UnknownOwner(void) {
  char key[64];
  const pmix_proc_t anyone = ProcOf(PMIX_RANK_UNDEF);
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  snprintf(key, sizeof(key), "unique.%u", g_self.rank);
  PutNow(key, 60 + g_self.rank);
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    snprintf(key, sizeof(key), "unique.%u", rank);
    CHECK(MustGetNumber(&anyone, key, NULL, PMIX_UINT32) == 60 + rank, "%s",
          key);
  }
  MustFail(PMIX_ERR_NOT_FOUND, &anyone, "never", &immediate);
  // The request is held until a process of this node commits the key.
  Answer later = NoAnswer();
  snprintf(key, sizeof(key), "later.%u", g_self.rank);
  OK(PMIx_Get_nb(&anyone, key, NULL, 0, OnValue, &later));
  Barrier();
  PutNow(key, 9);
  EXPECT(PMIX_SUCCESS, WaitFor(&later.done, 1));
  CHECK(later.number == 9, "%s is %u", key, later.number);
  // No process has the wildcard rank.
  const Directives second = Timeout(1);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, "changing", &second);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, "changing", &immediate);
}

static void Strangers(void) {
  const pmix_proc_t beyond = ProcOf(g_size);
  MustFail(PMIX_ERR_NOT_FOUND, &beyond, "key", NULL);
  pmix_proc_t stranger;
  PMIX_PROC_LOAD(&stranger, "no-such-job", 0);
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  const Directives optional = Flag(PMIX_OPTIONAL);
  MustFail(PMIX_ERR_NOT_FOUND, &stranger, "key", &optional);
  MustFail(PMIX_ERR_NOT_FOUND, &stranger, "key", &immediate);
  // A key that this process never put cannot arrive from another process.
  MustFail(PMIX_ERR_NOT_FOUND, NULL, "never", NULL);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, "never", NULL);
}

// Makes many requests at once, which are answered in any order.
static void Crowd(void) {
  enum { kRequests = 64 };
  static Answer answers[kRequests];
  const pmix_proc_t next = ProcOf(After(g_self.rank));
  for (int i = 0; i < kRequests; ++i) {
    char key[64];
    answers[i] = NoAnswer();
    snprintf(key, sizeof(key), "crowd.%d", i);
    OK(PMIx_Get_nb(&next, key, NULL, 0, OnValue, &answers[i]));
  }
  for (int i = kRequests - 1; i >= 0; --i) {
    char key[64];
    snprintf(key, sizeof(key), "crowd.%d", i);
    PutNow(key, (uint32_t)i);
  }
  for (int i = 0; i < kRequests; ++i) {
    EXPECT(PMIX_SUCCESS, WaitFor(&answers[i].done, 1));
    CHECK(answers[i].number == (uint32_t)i, "crowd.%d is %u", i,
          answers[i].number);
  }
}

int main(int argc, char **argv) {
  Start(argc, argv);
  WaitsForCommit();
  Immediate();
  TimesOut();
  Refresh();
  UnknownOwner();
  Strangers();
  Crowd();
  Barrier();
  return Finish();
}
