// PMIx_Process_monitor for statistics of resource usage, once and periodically,
// of processes, nodes, disks and interfaces. OpenPMIx defines them, and the
// Standard does not.
#include "nonblocking.h"

enum { kOwnCode = PMIX_EXTERNAL_ERR_BASE - 9 };

static Signal g_updates = SIGNAL_INIT;
static Signal g_own = SIGNAL_INIT;

static const pmix_info_t *In(const pmix_info_t info[], size_t ninfo,
                             const char *key) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], key)) return &info[i];
  }
  return NULL;
}

// Returns the statistics in one result.
static const pmix_info_t *Inside(const pmix_info_t *result, size_t *count) {
  CHECK(result->value.type == PMIX_DATA_ARRAY, "%s is of type %d", result->key,
        result->value.type);
  const pmix_data_array_t *array = result->value.data.darray;
  CHECK(array != NULL && array->type == PMIX_INFO && array->size > 1,
        "%s is no array of infos", result->key);
  *count = array->size;
  return array->array;
}

static float FloatIn(const pmix_info_t *result, const char *key) {
  size_t count = 0;
  const pmix_info_t *info = Inside(result, &count);
  info = In(info, count, key);
  CHECK(info != NULL && info->value.type == PMIX_FLOAT, "no %s", key);
  return info->value.data.fval;
}

static bool HasIn(const pmix_info_t *result, const char *key) {
  size_t count = 0;
  const pmix_info_t *info = Inside(result, &count);
  return In(info, count, key) != NULL;
}

static void IsProcess(const pmix_info_t *result, pmix_rank_t rank) {
  size_t count = 0;
  const pmix_info_t *info = Inside(result, &count);
  CHECK(PMIX_CHECK_KEY(result, PMIX_PROC_RESOURCE_USAGE), "got %s",
        result->key);
  CHECK(PMIX_CHECK_KEY(&info[0], PMIX_PROCID), "begins with %s", info[0].key);
  CHECK(info[0].value.data.proc->rank == rank, "rank %u, not %u",
        info[0].value.data.proc->rank, rank);
  CHECK(In(info, count, PMIX_PROC_SAMPLE_TIME) != NULL, "no time");
  CHECK(FloatIn(result, PMIX_PROC_RSS) > 0, "no memory");
}

static void OnUpdate(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                     size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cbfunc, void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  const pmix_info_t *name = In(info, ninfo, PMIX_MONITOR_ID);
  CHECK(name != NULL, "an update without the id of its monitor");
  const bool own = strcmp(name->value.data.string, "own") == 0;
  CHECK(status == (own ? kOwnCode : PMIX_MONITOR_RESUSAGE_UPDATE),
        "%s has the code %d", name->value.data.string, status);
  const pmix_info_t *usage = In(info, ninfo, PMIX_PROC_RESOURCE_USAGE);
  if (own) {
    CHECK(In(info, ninfo, PMIX_NODE_RESOURCE_USAGE) != NULL, "no node");
  } else {
    CHECK(usage != NULL, "no process");
    IsProcess(usage, (g_self.rank + 1) % g_size);
  }
  Raise(own ? &g_own : &g_updates, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void Registered(pmix_status_t status, size_t id, void *signal) {
  (void)id;
  Raise(signal, status);
}

static void Register(void) {
  pmix_status_t codes[] = {PMIX_MONITOR_RESUSAGE_UPDATE, kOwnCode};
  Signal signal = SIGNAL_INIT;
  PMIx_Register_event_handler(codes, 2, NULL, 0, OnUpdate, Registered, &signal);
  EXPECT(PMIX_SUCCESS, WaitFor(&signal, 1));
}

// Returns a request for the listed statistics, or for all if there is no list.
static Directives Of(const char *key, const Directives *list) {
  Directives what = {.count = 0};
  pmix_info_t *info = NextInfo(&what, key);
  info->value.type = PMIX_DATA_ARRAY;
  if (list == NULL) {
    PMIX_DATA_ARRAY_CREATE(info->value.data.darray, 0, PMIX_INFO);
    return what;
  }
  PMIX_DATA_ARRAY_CREATE(info->value.data.darray, list->count, PMIX_INFO);
  pmix_info_t *infos = info->value.data.darray->array;
  for (size_t i = 0; i < list->count; ++i) {
    PMIX_INFO_XFER(&infos[i], &list->info[i]);
  }
  return what;
}

static void AddProc(Directives *with, const char *nspace, pmix_rank_t rank) {
  pmix_info_t *info = NextInfo(with, PMIX_MONITOR_TARGET_PROCS);
  info->value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(info->value.data.darray, 1, PMIX_PROC);
  PMIX_LOAD_PROCID((pmix_proc_t *)info->value.data.darray->array, nspace, rank);
}

static void AddPid(Directives *with, const char *host, int pid) {
  pmix_info_t *info = NextInfo(with, PMIX_MONITOR_TARGET_PIDS);
  info->value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(info->value.data.darray, 1, PMIX_NODE_PID);
  pmix_node_pid_t *one = info->value.data.darray->array;
  one->hostname = strdup(host);
  one->pid = pid;
}

static void AddNames(Directives *with, const char *key, const char *name) {
  pmix_info_t *info = NextInfo(with, key);
  info->value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(info->value.data.darray, 1, PMIX_STRING);
  *(char **)info->value.data.darray->array = strdup(name);
}

static void AddNodeId(Directives *with, uint32_t id) {
  pmix_info_t *info = NextInfo(with, PMIX_MONITOR_TARGET_NODEIDS);
  info->value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(info->value.data.darray, 1, PMIX_UINT32);
  *(uint32_t *)info->value.data.darray->array = id;
}

typedef struct {
  pmix_status_t status;
  pmix_info_t *info;
  size_t count;
} Results;

static Results Ask(const Directives *what, pmix_status_t code,
                   const Directives *with) {
  Results got = {PMIX_SUCCESS, NULL, 0};
  got.status = PMIx_Process_monitor(what->info, code, with->info, with->count,
                                    &got.info, &got.count);
  return got;
}

static void Refused(pmix_status_t want, const Directives *what,
                    const Directives *with) {
  Results got = Ask(what, PMIX_SUCCESS, with);
  EXPECT(want, got.status);
  CHECK(got.count == 0, "%zu results with an error", got.count);
}

static const Directives kNone = {.count = 0};

// Requests all statistics of all processes of the job, wherever they run.
static void AllProcesses(void) {
  const Directives what = Of(PMIX_MONITOR_PROC_RESOURCE_USAGE, NULL);
  Directives with = {.count = 0};
  AddProc(&with, g_self.nspace, PMIX_RANK_WILDCARD);
  Results got = Ask(&what, PMIX_SUCCESS, &with);
  OK(got.status);
  CHECK(got.count == g_size, "%zu processes", got.count);
  for (uint32_t rank = 0; rank < g_size; ++rank) {
    IsProcess(&got.info[rank], rank);
    CHECK(HasIn(&got.info[rank], PMIX_PROC_TIME), "no time of the processor");
    CHECK(FloatIn(&got.info[rank], PMIX_PROC_PERCENT_CPU) >= 0, "no share");
    CHECK(FloatIn(&got.info[rank], PMIX_PROC_VSIZE) > 0, "no memory");
    CHECK(HasIn(&got.info[rank], PMIX_CMD_LINE), "no command");
  }
  PMIX_INFO_FREE(got.info, got.count);
}

// Requests statistics of named processes and nodes.
static void Selected(void) {
  Directives list = {.count = 0};
  NextInfo(&list, PMIX_PROC_RSS);
  const Directives what = Of(PMIX_MONITOR_PROC_RESOURCE_USAGE, &list);
  const pmix_rank_t last = g_size - 1;
  Directives with = {.count = 0};
  AddProc(&with, g_self.nspace, last);
  Results got = Ask(&what, PMIX_SUCCESS, &with);
  OK(got.status);
  CHECK(got.count == 1, "%zu processes", got.count);
  IsProcess(&got.info[0], last);
  CHECK(!HasIn(&got.info[0], PMIX_PROC_TIME), "more than the list");
  PMIX_INFO_FREE(got.info, got.count);

  char *host = MustGetText(&g_self, PMIX_HOSTNAME, NULL);
  Directives pid = {.count = 0};
  AddPid(&pid, host, getpid());
  got = Ask(&what, PMIX_SUCCESS, &pid);
  OK(got.status);
  CHECK(got.count == 1, "%zu processes of that number", got.count);
  IsProcess(&got.info[0], g_self.rank);
  PMIX_INFO_FREE(got.info, got.count);

  Directives here = Flag(PMIX_MONITOR_LOCAL_ONLY);
  uint32_t local = 0;
  for (uint32_t rank = 0; rank < g_size; ++rank) local += IsLocal(rank) ? 1 : 0;
  got = Ask(&what, PMIX_SUCCESS, &here);
  OK(got.status);
  CHECK(got.count >= local, "%zu processes here", got.count);
  free(host);
}

// Requests statistics with targets that select one node. Expects one result.
static void IsOneNode(const Directives *what, const Directives *targets) {
  Results got = Ask(what, PMIX_SUCCESS, targets);
  OK(got.status);
  CHECK(got.count == 1, "%zu nodes", got.count);
  PMIX_INFO_FREE(got.info, got.count);
}

// A node has its load, its memory, its disks and its interfaces.
static void Nodes(void) {
  const Directives what = Of(PMIX_MONITOR_NODE_RESOURCE_USAGE, NULL);
  Results got = Ask(&what, PMIX_SUCCESS, &kNone);
  OK(got.status);
  CHECK(got.count > 0, "no node");
  for (size_t i = 0; i < got.count; ++i) {
    size_t count = 0;
    const pmix_info_t *info = Inside(&got.info[i], &count);
    CHECK(PMIX_CHECK_KEY(&got.info[i], PMIX_NODE_RESOURCE_USAGE), "got %s",
          got.info[i].key);
    CHECK(PMIX_CHECK_KEY(&info[0], PMIX_HOSTNAME), "begins with %s",
          info[0].key);
    CHECK(FloatIn(&got.info[i], PMIX_NODE_LOAD_AVG) >= 0, "no load");
    CHECK(FloatIn(&got.info[i], PMIX_NODE_MEM_TOTAL) > 0, "no memory");
    CHECK(HasIn(&got.info[i], PMIX_NODE_SAMPLE_TIME), "no time");
    CHECK(HasIn(&got.info[i], PMIX_NETWORK_RESOURCE_USAGE), "no interface");
  }
  PMIX_INFO_FREE(got.info, got.count);

  Directives named = {.count = 0};
  char *host = MustGetText(&g_self, PMIX_HOSTNAME, NULL);
  AddNames(&named, PMIX_MONITOR_TARGET_NODES, host);
  IsOneNode(&what, &named);
  Directives numbered = {.count = 0};
  AddNodeId(&numbered, NodeOf(g_self.rank));
  IsOneNode(&what, &numbered);
  free(host);
}

// Every machine has the interface lo; many have no disk.
static void Devices(void) {
  const Directives nets = Of(PMIX_MONITOR_NET_RESOURCE_USAGE, NULL);
  Directives with = {.count = 0};
  AddNames(&with, PMIX_MONITOR_TARGET_NETS, "lo");
  Results got = Ask(&nets, PMIX_SUCCESS, &with);
  OK(got.status);
  CHECK(got.count == 1, "%zu interfaces", got.count);
  CHECK(PMIX_CHECK_KEY(&got.info[0], PMIX_NETWORK_RESOURCE_USAGE), "got %s",
        got.info[0].key);
  CHECK(HasIn(&got.info[0], PMIX_NET_RECVD_BYTES), "no bytes");
  PMIX_INFO_FREE(got.info, got.count);
  Directives absent = {.count = 0};
  AddNames(&absent, PMIX_MONITOR_TARGET_NETS, "no-such-net");
  got = Ask(&nets, PMIX_SUCCESS, &absent);
  OK(got.status);
  CHECK(got.count == 0, "%zu interfaces of that name", got.count);
  const Directives disks = Of(PMIX_MONITOR_DISK_RESOURCE_USAGE, NULL);
  Directives none = {.count = 0};
  AddNames(&none, PMIX_MONITOR_TARGET_DISKS, "no-such-disk");
  got = Ask(&disks, PMIX_SUCCESS, &none);
  OK(got.status);
  CHECK(got.count == 0, "%zu disks of that name", got.count);
}

static Directives Periodic(const char *id) {
  Directives with = {.count = 0};
  AddText(&with, PMIX_MONITOR_ID, id);
  AddU32(&with, PMIX_MONITOR_RESOURCE_RATE, 1);
  return with;
}

static void Cancel(const char *id) {
  Directives what = {.count = 0};
  AddText(&what, PMIX_MONITOR_CANCEL, id);
  Results got = Ask(&what, PMIX_SUCCESS, &kNone);
  OK(got.status);
  EXPECT(PMIX_ERR_NOT_FOUND, Ask(&what, PMIX_SUCCESS, &kNone).status);
}

// The call returns the first sample, and events have the other samples. The
// events of another process's monitors do not arrive.
static void Periodically(void) {
  Directives list = {.count = 0};
  NextInfo(&list, PMIX_PROC_RSS);
  const Directives what = Of(PMIX_MONITOR_PROC_RESOURCE_USAGE, &list);
  Directives with = Periodic("next");
  AddProc(&with, g_self.nspace, (g_self.rank + 1) % g_size);
  Results got = Ask(&what, PMIX_MONITOR_RESUSAGE_UPDATE, &with);
  OK(got.status);
  CHECK(got.count == 1, "%zu processes", got.count);
  IsProcess(&got.info[0], (g_self.rank + 1) % g_size);
  PMIX_INFO_FREE(got.info, got.count);
  Directives load = {.count = 0};
  NextInfo(&load, PMIX_NODE_LOAD_AVG);
  const Directives nodes = Of(PMIX_MONITOR_NODE_RESOURCE_USAGE, &load);
  Directives own = Periodic("own");
  AddFlag(&own, PMIX_MONITOR_LOCAL_ONLY, true);
  got = Ask(&nodes, kOwnCode, &own);
  OK(got.status);
  CHECK(got.count == 1, "%zu nodes", got.count);
  PMIX_INFO_FREE(got.info, got.count);
  WaitFor(&g_updates, 2);
  WaitFor(&g_own, 2);
  Cancel("next");
  Cancel("own");
}

static void OnResults(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                      void *call, pmix_release_cbfunc_t release, void *object) {
  if (status == PMIX_SUCCESS) {
    CHECK(ninfo == g_size, "%zu processes", ninfo);
    IsProcess(&info[0], 0);
  }
  if (release != NULL) release(object);
  Answered(call, status);
}

static void NonBlocking(void) {
  const Directives what = Of(PMIX_MONITOR_PROC_RESOURCE_USAGE, NULL);
  Directives with = {.count = 0};
  AddProc(&with, g_self.nspace, PMIX_RANK_WILDCARD);
  ANSWERS(PMIX_SUCCESS, PMIx_Process_monitor_nb, what.info, PMIX_SUCCESS,
          with.info, with.count, OnResults);
  Directives nobody = {.count = 0};
  AddProc(&nobody, "no-such-job", 0);
  ANSWERS(PMIX_ERR_NOT_FOUND, PMIx_Process_monitor_nb, what.info, PMIX_SUCCESS,
          nobody.info, nobody.count, OnResults);
}

static void Wrong(void) {
  const Directives what = Of(PMIX_MONITOR_PROC_RESOURCE_USAGE, NULL);
  Directives nobody = {.count = 0};
  AddProc(&nobody, "no-such-job", 0);
  Refused(PMIX_ERR_NOT_FOUND, &what, &nobody);
  Directives rank = {.count = 0};
  AddProc(&rank, g_self.nspace, g_size);
  Refused(PMIX_ERR_NOT_FOUND, &what, &rank);
  Directives number = {.count = 0};
  AddU32(&number, PMIX_MONITOR_TARGET_PROCS, 3);
  Refused(PMIX_ERR_BAD_PARAM, &what, &number);
  Directives text = {.count = 0};
  AddText(&text, PMIX_MONITOR_RESOURCE_RATE, "often");
  Refused(PMIX_ERR_BAD_PARAM, &what, &text);
  Directives other = {.count = 0};
  NextInfo(&other, "other");
  const Directives unknown = Of(PMIX_MONITOR_PROC_RESOURCE_USAGE, &other);
  Refused(PMIX_ERR_NOT_SUPPORTED, &unknown, &kNone);
  const Directives disks = Of(PMIX_MONITOR_DISK_RESOURCE_USAGE, &other);
  Refused(PMIX_ERR_NOT_SUPPORTED, &disks, &kNone);
  Directives with = Periodic("nobody");
  AddProc(&with, "no-such-job", 0);
  Refused(PMIX_ERR_NOT_FOUND, &what, &with);
  Directives cancel = {.count = 0};
  AddText(&cancel, PMIX_MONITOR_CANCEL, "nobody");
  Refused(PMIX_ERR_NOT_FOUND, &cancel, &kNone);
}

// The fifth monitor of resource usage of one process is refused.
static void TooMany(void) {
  const Directives what = Of(PMIX_MONITOR_NET_RESOURCE_USAGE, NULL);
  char id[8];
  for (int i = 0; i < 5; ++i) {
    snprintf(id, sizeof id, "n%d", i);
    Directives with = {.count = 0};
    AddText(&with, PMIX_MONITOR_ID, id);
    AddU32(&with, PMIX_MONITOR_RESOURCE_RATE, 3600);
    Results got = Ask(&what, PMIX_SUCCESS, &with);
    EXPECT(i < 4 ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE, got.status);
    PMIX_INFO_FREE(got.info, got.count);
  }
  Directives all = {.count = 0};
  NextInfo(&all, PMIX_MONITOR_CANCEL);
  OK(Ask(&all, PMIX_SUCCESS, &kNone).status);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Register();
  Barrier();
  AllProcesses();
  Selected();
  Nodes();
  Devices();
  NonBlocking();
  Wrong();
  TooMany();
  Periodically();
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
