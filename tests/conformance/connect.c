// PMIx_Connect and PMIx_Disconnect between two jobs, in both forms: rejected
// calls, several operations at once, the data that a process can read
// afterwards, and the notification when a process leaves without a disconnect.
// Words: see meet.h.
#include "meet.h"
#include "nonblocking.h"

enum { kSet = 2 };

// Lists both jobs; each job uses an order of its own.
static void Both(pmix_proc_t set[kSet]) {
  set[0] = Other(PMIX_RANK_WILDCARD);
  set[1] = g_job;
}

static void WrongArguments(void) {
  const pmix_proc_t others[1] = {Other(PMIX_RANK_WILDCARD)};
  const pmix_proc_t nobody[2] = {g_self, ProcOf(g_size)};
  const Directives negative = Timeout(-1);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Connect(NULL, 0, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Connect(&g_job, 0, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Connect(&g_job, 1, NULL, 1));
  // This process is not among the participants.
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Connect(others, 1, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Connect(nobody, 2, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Connect(&g_job, 1, negative.info, 1));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Connect_nb, NULL, 0, NULL, 0, OnOperation);
  ANSWERS(PMIX_ERR_BAD_PARAM, PMIx_Connect_nb, others, 1, NULL, 0, OnOperation);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Disconnect(NULL, 0, NULL, 0));
  EXPECT(PMIX_ERR_INVALID_OPERATION, PMIx_Disconnect(others, 1, NULL, 0));
  ANSWERS(PMIX_ERR_INVALID_OPERATION, PMIx_Disconnect_nb, others, 1, NULL, 0,
          OnOperation);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Disconnect_nb, NULL, 1, NULL, 0,
          OnOperation);
  Barrier();
}

static void Unsupported(void) {
  pmix_proc_t set[kSet];
  Both(set);
  Directives clones = Flag(PMIX_ALL_CLONES_PARTICIPATE);
  PMIX_INFO_REQUIRED(&clones.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Connect(set, kSet, clones.info, 1));
  REFUSES(PMIX_ERR_NOT_SUPPORTED, PMIx_Connect_nb, set, kSet, clones.info, 1,
          OnOperation);
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Disconnect(set, kSet, clones.info, 1));
  REFUSES(PMIX_ERR_NOT_SUPPORTED, PMIx_Disconnect_nb, set, kSet, clones.info, 1,
          OnOperation);
  Barrier();
}

// A directive that is not supported may be ignored unless it is marked as
// required.
static void UnsupportedAndOptional(void) {
  pmix_proc_t set[kSet];
  Both(set);
  const Directives clones = Flag(PMIX_ALL_CLONES_PARTICIPATE);
  OK(PMIx_Connect(set, kSet, clones.info, 1));
  OK(PMIx_Disconnect(set, kSet, clones.info, 1));
  ANSWERS(PMIX_SUCCESS, PMIx_Connect_nb, set, kSet, clones.info, 1,
          OnOperation);
  ANSWERS(PMIX_SUCCESS, PMIx_Disconnect_nb, set, kSet, clones.info, 1,
          OnOperation);
}

static void UnknownNamespace(void) {
  pmix_proc_t set[kSet] = {g_job, g_job};
  PMIX_LOAD_NSPACE(set[1].nspace, "no-such-job");
  const Directives limit = Timeout(20);
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Connect(set, kSet, limit.info, 1));
  Barrier();
}

// The other participant never arrives.
static void TimesOut(void) {
  if (g_self.rank == 0) {
    const pmix_proc_t set[kSet] = {g_self, Other(g_size - 1)};
    const Directives limit = Timeout(1);
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Connect(set, kSet, limit.info, 1));
    ANSWERS(PMIX_ERR_TIMEOUT, PMIx_Connect_nb, set, kSet, limit.info, 1,
            OnOperation);
  }
  Barrier();
}

static void NotConnected(void) {
  pmix_proc_t set[kSet];
  Both(set);
  EXPECT(PMIX_ERR_INVALID_OPERATION, PMIx_Disconnect(set, kSet, NULL, 0));
  ANSWERS(PMIX_ERR_INVALID_OPERATION, PMIx_Disconnect_nb, set, kSet, NULL, 0,
          OnOperation);
  Barrier();
}

static void JobDataOfTheOther(void) {
  const pmix_proc_t job = Other(PMIX_RANK_WILDCARD);
  CHECK(MustGetNumber(&job, PMIX_JOB_SIZE, NULL, PMIX_UINT32) == g_size,
        "another size");
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = Other(rank);
    CHECK(MustGetNumber(&peer, PMIX_APP_RANK, NULL, PMIX_PROC_RANK) == rank,
          "rank %u", rank);
  }
}

// MPI libraries request this data of processes to which they have connected,
// and do without it if they would have to wait.
static void JobDataThatIsThere(void) {
  const pmix_proc_t job = Other(PMIX_RANK_WILDCARD);
  const Directives optional = Flag(PMIX_OPTIONAL);
  CHECK(MustGetNumber(&job, PMIX_JOB_SIZE, &optional, PMIX_UINT32) == g_size,
        "another size");
  const pmix_proc_t peer = Other(0);
  free(MustGetText(&peer, PMIX_HOSTNAME, &optional));
}

static void Blocking(void) {
  pmix_proc_t set[kSet];
  Both(set);
  const Directives limit = Timeout(60);
  OK(PMIx_Connect(set, kSet, limit.info, 1));
  JobDataThatIsThere();
  JobDataOfTheOther();
  OK(PMIx_Disconnect(set, kSet, limit.info, 1));
  EXPECT(PMIX_ERR_INVALID_OPERATION, PMIx_Disconnect(set, kSet, NULL, 0));
}

// A connect collects committed data if it is requested, as a fence does. It
// exchanges the jobs' own data in any case.
static void Collects(void) {
  pmix_proc_t set[kSet];
  Both(set);
  Directives all = Flag(PMIX_COLLECT_DATA);
  AddFlag(&all, PMIX_COLLECT_GENERATED_JOB_INFO, true);
  PMIX_INFO_REQUIRED(&all.info[0]);
  PMIX_INFO_REQUIRED(&all.info[1]);
  PutU32(PMIX_GLOBAL, "for.the.connected", 100 + g_self.rank);
  OK(PMIx_Commit());
  OK(PMIx_Connect(set, kSet, all.info, all.count));
  JobDataThatIsThere();
  const Directives immediate = Flag(PMIX_IMMEDIATE);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = Other(rank);
    CHECK(MustGetNumber(&peer, "for.the.connected", &immediate, PMIX_UINT32) ==
              100 + rank,
          "rank %u", rank);
  }
  OK(PMIx_Disconnect(set, kSet, all.info, all.count));
  ANSWERS(PMIX_SUCCESS, PMIx_Connect_nb, set, kSet, all.info, all.count,
          OnOperation);
  ANSWERS(PMIX_SUCCESS, PMIx_Disconnect_nb, set, kSet, all.info, all.count,
          OnOperation);
}

// Lets the other job's rank 0 continue, or waits until that rank lets this
// process continue.
static void TakeTurns(bool first, const pmix_proc_t *other, const char *key) {
  if (first) {
    PutU32(PMIX_GLOBAL, key, 1);
    OK(PMIx_Commit());
  } else {
    MustGetNumber(other, key, NULL, PMIX_UINT32);
  }
}

// One of two connected processes does not disconnect in time. When it
// disconnects later, its call reports the timeout, and neither process is
// connected any more.
static void DisconnectTimesOut(bool first) {
  const pmix_proc_t set[kSet] = {g_self, Other(0)};
  const Directives limit = Timeout(1);
  if (g_self.rank == 0) {
    OK(PMIx_Connect(set, kSet, NULL, 0));
    if (!first) TakeTurns(first, &set[1], "timed out");
    EXPECT(PMIX_ERR_TIMEOUT, PMIx_Disconnect(set, kSet, limit.info, 1));
    if (first) TakeTurns(first, &set[1], "timed out");
    EXPECT(PMIX_ERR_INVALID_OPERATION, PMIx_Disconnect(set, kSet, NULL, 0));
    OK(PMIx_Connect(set, kSet, NULL, 0));
    if (!first) TakeTurns(first, &set[1], "timed out again");
    ANSWERS(PMIX_ERR_TIMEOUT, PMIx_Disconnect_nb, set, kSet, limit.info, 1,
            OnOperation);
    if (first) TakeTurns(first, &set[1], "timed out again");
  }
  Barrier();
}

// A membership of wildcards differs from the list of all processes.
static void NamedOtherwise(void) {
  pmix_proc_t set[kSet];
  Both(set);
  pmix_proc_t list[128];
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    list[rank] = ProcOf(rank);
    list[g_size + rank] = Other(rank);
  }
  OK(PMIx_Connect(set, kSet, NULL, 0));
  EXPECT(PMIX_ERR_INVALID_OPERATION,
         PMIx_Disconnect(list, 2 * g_size, NULL, 0));
  OK(PMIx_Connect(list, 2 * g_size, NULL, 0));
  OK(PMIx_Disconnect(set, kSet, NULL, 0));
  OK(PMIx_Disconnect(list, 2 * g_size, NULL, 0));
}

// A process takes part in one operation of a membership at a time. The last
// rank of each job arrives after all others have tried twice.
static void OnceAtATime(void) {
  pmix_proc_t set[kSet];
  Both(set);
  const bool last = g_self.rank == g_size - 1;
  Signal done = SIGNAL_INIT;
  if (last) Barrier();
  OK(PMIx_Connect_nb(set, kSet, NULL, 0, RaiseOp, &done));
  if (!last) {
    EXPECT(PMIX_ERR_INVALID_OPERATION, PMIx_Connect(set, kSet, NULL, 0));
    CHECK(CountOf(&done) == 0, "connected without rank %u", g_size - 1);
    Barrier();
  }
  OK(WaitFor(&done, 1));
  OK(PMIx_Disconnect(set, kSet, NULL, 0));
}

// A process takes part in several operations of different memberships at a
// time.
static void ManyAtOnce(void) {
  pmix_proc_t sets[3][kSet];
  Both(sets[0]);
  sets[1][0] = g_self;
  sets[1][1] = Other(g_self.rank);
  sets[2][0] = g_job;
  sets[2][1] = ProcOf(0);
  Signal connected = SIGNAL_INIT;
  for (int i = 0; i < 3; ++i) {
    OK(PMIx_Connect_nb(sets[i], kSet, NULL, 0, RaiseOp, &connected));
  }
  OK(WaitFor(&connected, 3));
  Signal disconnected = SIGNAL_INIT;
  for (int i = 2; i >= 0; --i) {
    OK(PMIx_Disconnect_nb(sets[i], kSet, NULL, 0, RaiseOp, &disconnected));
  }
  OK(WaitFor(&disconnected, 3));
  CHECK(CountOf(&connected) == 3, "%d callbacks", CountOf(&connected));
}

static Signal g_left = SIGNAL_INIT;

static void OnLeft(size_t id, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                   size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                   void *cbdata) {
  (void)id, (void)info, (void)ninfo, (void)results, (void)nresults;
  CHECK(source->rank == g_size - 1, "rank %u left", source->rank);
  Raise(&g_left, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

// The last rank of the first job leaves; the connected processes are notified.
static int OneLeaves(bool first) {
  pmix_proc_t set[kSet];
  Both(set);
  pmix_status_t code = PMIX_ERR_PROC_TERM_WO_SYNC;
  const bool leaves = first && g_self.rank == g_size - 1;
  if (!leaves) {
    CHECK(
        PMIx_Register_event_handler(&code, 1, NULL, 0, OnLeft, NULL, NULL) >= 0,
        "not registered");
  }
  OK(PMIx_Connect(set, kSet, NULL, 0));
  if (leaves) return Finish();
  EXPECT(PMIX_ERR_PROC_TERM_WO_SYNC, WaitFor(&g_left, 1));
  const pmix_status_t late = PMIx_Disconnect(set, kSet, NULL, 0);
  // The other job may be over, so that there is no process to disconnect from.
  CHECK(late == PMIX_ERR_PROC_TERM_WO_SYNC || late == PMIX_ERR_NOT_FOUND, "%s",
        PMIx_Error_string(late));
  return Finish();
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(g_size <= 64, "needs at most 64 ranks");
  const bool first = Meet(argc, argv);
  WrongArguments();
  Unsupported();
  UnsupportedAndOptional();
  UnknownNamespace();
  TimesOut();
  NotConnected();
  Blocking();
  Collects();
  DisconnectTimesOut(first);
  NamedOtherwise();
  OnceAtATime();
  ManyAtOnce();
  CallsAnsweredOnce();
  return OneLeaves(first);
}
