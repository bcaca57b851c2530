// Two jobs that run at once on one overlay and connect: fences of both jobs,
// the data and job data of the other job, events, and resolving. Words: see
// meet.h.
#include "meet.h"

// No process of the other job has the same node rank as this process, if both
// run on one node.
static void NodeRanks(void) {
  char *here = MustGetText(&g_self, PMIX_HOSTNAME, NULL);
  const uint32_t mine =
      MustGetNumber(&g_self, PMIX_NODE_RANK, NULL, PMIX_UINT16);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = Other(rank);
    char *host = MustGetText(&peer, PMIX_HOSTNAME, NULL);
    const bool same = strcmp(here, host) == 0;
    free(host);
    if (!same) continue;
    CHECK(MustGetNumber(&peer, PMIX_NODE_RANK, NULL, PMIX_UINT16) != mine,
          "node rank %u is also rank %u's of %s", mine, rank, g_other);
  }
  free(here);
}

static void JobData(void) {
  const pmix_proc_t job = Other(PMIX_RANK_WILDCARD);
  CHECK(MustGetNumber(&job, PMIX_JOB_SIZE, NULL, PMIX_UINT32) == g_size,
        "another size");
  const Directives app = Flag(PMIX_APP_INFO);
  CHECK(MustGetNumber(&job, PMIX_APP_SIZE, &app, PMIX_UINT32) == g_size,
        "another size");
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = Other(rank);
    CHECK(MustGetNumber(&peer, PMIX_APP_RANK, NULL, PMIX_PROC_RANK) == rank,
          "rank %u", rank);
    char *host = MustGetText(&peer, PMIX_HOSTNAME, NULL);
    pmix_proc_t *procs = NULL;
    size_t count = 0;
    OK(PMIx_Resolve_peers(host, g_other, &procs, &count));
    bool there = false;
    for (size_t i = 0; i < count; ++i) there |= procs[i].rank == rank;
    CHECK(there, "rank %u is not on %s", rank, host);
    PMIX_PROC_FREE(procs, count);
    free(host);
  }
  NodeRanks();
  MustFail(PMIX_ERR_NOT_FOUND, &job, "pmix.no.such.key", NULL);
  char *nodes = NULL;
  OK(PMIx_Resolve_nodes(g_other, &nodes));
  free(nodes);
}

// Returns the number of processes of the other job on this node.
static size_t OthersHere(void) {
  char *here = MustGetText(&g_self, PMIX_HOSTNAME, NULL);
  size_t count = 0;
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = Other(rank);
    char *host = MustGetText(&peer, PMIX_HOSTNAME, NULL);
    count += strcmp(here, host) == 0;
    free(host);
  }
  free(here);
  return count;
}

// Checks the job's data about the processes on its node at the time of its
// mapping.
static void LocalProcs(bool knows_other) {
  pmix_value_t *value =
      MustGet(&g_job, PMIX_LOCAL_PROCS, NULL, PMIX_DATA_ARRAY);
  const pmix_data_array_t *array = value->data.darray;
  const pmix_proc_t *procs = array->array;
  size_t others = 0;
  for (size_t i = 0; i < array->size; ++i) {
    others += strcmp(procs[i].nspace, g_other) == 0;
  }
  CHECK(others == (knows_other ? OthersHere() : 0), "%zu processes of %s here",
        others, g_other);
  const uint32_t size =
      MustGetNumber(&g_job, PMIX_NODE_SIZE, NULL, PMIX_UINT32);
  CHECK(size == array->size, "%u processes here, and a list of %zu", size,
        array->size);
  PMIX_VALUE_RELEASE(value);
}

// Both jobs are in one session, whose ranks and nodes they share.
static void SameSession(void) {
  const pmix_proc_t job = Other(PMIX_RANK_WILDCARD);
  static const char *const kSame[] = {PMIX_SESSION_ID, PMIX_UNIV_SIZE};
  for (int i = 0; i < 2; ++i) {
    CHECK(MustGetNumber(&g_job, kSame[i], NULL, PMIX_UINT32) ==
              MustGetNumber(&job, kSame[i], NULL, PMIX_UINT32),
          "%s differs", kSame[i]);
  }
  const uint32_t mine =
      MustGetNumber(&g_job, PMIX_NPROC_OFFSET, NULL, PMIX_PROC_RANK);
  const uint32_t theirs =
      MustGetNumber(&job, PMIX_NPROC_OFFSET, NULL, PMIX_PROC_RANK);
  CHECK(mine + g_size <= theirs || theirs + g_size <= mine,
        "global ranks from %u and from %u", mine, theirs);
  // The later job was mapped while the other job ran.
  LocalProcs(theirs < mine);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = Other(rank);
    CHECK(MustGetNumber(&peer, PMIX_GLOBAL_RANK, NULL, PMIX_PROC_RANK) ==
              theirs + rank,
          "rank %u", rank);
    pmix_value_t *pid = MustGet(&peer, PMIX_PROC_PID, NULL, PMIX_PID);
    CHECK(pid->data.pid > 0, "rank %u has PID %d", rank, (int)pid->data.pid);
    PMIX_VALUE_RELEASE(pid);
  }
}

static void PutNow(const char *key, uint32_t number) {
  PutU32(PMIX_GLOBAL, key, number);
  OK(PMIx_Commit());
}

static void Both(const Directives *with) {
  // Each job lists the set in an order of its own.
  const pmix_proc_t set[2] = {Other(PMIX_RANK_WILDCARD), g_job};
  OK(PMIx_Fence(set, 2, with->info, with->count));
}

static void Data(void) {
  const Directives collect = Flag(PMIX_COLLECT_DATA);
  const Directives optional = Flag(PMIX_OPTIONAL);
  PutNow("number", 100 + g_self.rank);
  Both(&collect);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = Other(rank);
    CHECK(MustGetNumber(&peer, "number", &optional, PMIX_UINT32) == 100 + rank,
          "number of rank %u", rank);
  }
  // A part of one job connects with a part of the other; both are lists.
  PutNow("part", 200 + g_self.rank);
  if (g_self.rank < 2) {
    const pmix_proc_t list[4] = {ProcOf(0), ProcOf(1), Other(0), Other(1)};
    OK(PMIx_Fence(list, 4, collect.info, collect.count));
  }
  // The data arrives without a fence.
  const pmix_proc_t last = Other(g_size - 1);
  CHECK(MustGetNumber(&last, "part", NULL, PMIX_UINT32) == 200 + last.rank,
        "part of rank %u", last.rank);
}

static Signal g_heard = SIGNAL_INIT;
static Signal g_namespace = SIGNAL_INIT;
enum { kGlobal = -32001, kNamespace = -32002 };

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)info, (void)ninfo, (void)results, (void)nresults;
  if (status == kNamespace) {
    CHECK(strcmp(source->nspace, g_self.nspace) == 0,
          "an event of range namespace of job %s", source->nspace);
    Raise(&g_namespace, status);
  } else if (strcmp(source->nspace, g_other) == 0) {
    Raise(&g_heard, status);
  }
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void Events(void) {
  pmix_status_t codes[] = {kGlobal, kNamespace};
  CHECK(
      PMIx_Register_event_handler(codes, 2, NULL, 0, OnEvent, NULL, NULL) >= 0,
      "not registered");
  const Directives none = {.count = 0};
  Both(&none);
  OK(PMIx_Notify_event(kNamespace, NULL, PMIX_RANGE_NAMESPACE, NULL, 0, NULL,
                       NULL));
  OK(PMIx_Notify_event(kGlobal, NULL, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
  (void)WaitFor(&g_heard, (int)g_size);
  (void)WaitFor(&g_namespace, (int)g_size);
}

// QRY-15: without a name, the result has processes of all jobs. This call
// precedes all others that search a job.
static void Everybody(void) {
  pmix_proc_t *procs = NULL;
  size_t count = 0;
  size_t others = 0;
  OK(PMIx_Resolve_peers(NULL, NULL, &procs, &count));
  for (size_t i = 0; i < count; ++i) {
    others += strcmp(procs[i].nspace, g_other) == 0;
  }
  CHECK(others == OthersHere(), "%zu processes of %s here", others, g_other);
  PMIX_PROC_FREE(procs, count);
}

// GRP-19: members of a group can read the data of all members' jobs, and the
// data that members have put, according to its scope.
static void Group(void) {
  const pmix_proc_t set[2] = {g_job, Other(PMIX_RANK_WILDCARD)};
  const bool first = strcmp(g_self.nspace, g_other) < 0;
  char name[2 * PMIX_MAX_NSLEN];
  snprintf(name, sizeof(name), "of %.100s and others",
           first ? g_self.nspace : g_other);
  PutU32(PMIX_GLOBAL, "in a group", 300 + g_self.rank);
  PutU32(PMIX_LOCAL, "on a node", 400 + g_self.rank);
  OK(PMIx_Commit());
  OK(PMIx_Group_construct(name, set, 2, NULL, 0, NULL, NULL));
  const pmix_proc_t job = Other(PMIX_RANK_WILDCARD);
  CHECK(MustGetNumber(&job, PMIX_JOB_SIZE, NULL, PMIX_UINT32) == g_size,
        "another size");
  char *here = MustGetText(&g_self, PMIX_HOSTNAME, NULL);
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = Other(rank);
    CHECK(MustGetNumber(&peer, "in a group", NULL, PMIX_UINT32) == 300 + rank,
          "what rank %u has put", rank);
    char *host = MustGetText(&peer, PMIX_HOSTNAME, NULL);
    if (strcmp(here, host) == 0) {
      CHECK(MustGetNumber(&peer, "on a node", NULL, PMIX_UINT32) == 400 + rank,
            "what rank %u has put for its node", rank);
    } else {
      MustFail(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, &peer, "on a node", NULL);
    }
    free(host);
  }
  free(here);
  OK(PMIx_Group_destruct(name, NULL, 0));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Meet(argc, argv);
  Everybody();
  JobData();
  SameSession();
  Data();
  Group();
  Events();
  const Directives none = {.count = 0};
  Both(&none);
  return Finish();
}
