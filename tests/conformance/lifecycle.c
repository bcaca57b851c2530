// PMIx_Init, PMIx_Initialized, PMIx_Finalize, PMIx_Get_version, PMIx_Progress:
// references are counted, and calls before PMIx_Init and after PMIx_Finalize
// fail with PMIX_ERR_INIT.
#include <pmix_server.h>
#include <pmix_tool.h>

#include "children.h"

static void DynamicCallsOutside(void) {
  char program[] = "true";
  char *words[2];
  pmix_app_t app = Program(program, words);
  EXPECT(PMIX_ERR_INIT, PMIx_Spawn(NULL, 0, &app, 1, NULL));
  REFUSES(PMIX_ERR_INIT, PMIx_Spawn_nb, NULL, 0, &app, 1, OnSpawned);
  EXPECT(PMIX_ERR_INIT, PMIx_Connect(&g_job, 1, NULL, 0));
  REFUSES(PMIX_ERR_INIT, PMIx_Connect_nb, &g_job, 1, NULL, 0, OnOperation);
  EXPECT(PMIX_ERR_INIT, PMIx_Disconnect(&g_job, 1, NULL, 0));
  REFUSES(PMIX_ERR_INIT, PMIx_Disconnect_nb, &g_job, 1, NULL, 0, OnOperation);
  CallsAnsweredOnce();
}

// GEN-02: one call of each other chapter. The programs of these chapters test
// more of their calls.
static void OtherCallsOutside(void) {
  pmix_topology_t topology = {NULL, NULL};
  pmix_cpuset_t cpuset = {NULL, NULL};
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  pmix_locality_t locality;
  pmix_device_distance_t *distances = NULL;
  size_t count = 0;
  EXPECT(PMIX_ERR_INIT, PMIx_Load_topology(&topology));
  EXPECT(PMIX_ERR_INIT, PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
  EXPECT(PMIX_ERR_INIT, PMIx_Parse_cpuset_string("hwloc:0", &cpuset));
  EXPECT(PMIX_ERR_INIT, PMIx_Get_relative_locality("", "", &locality));
  EXPECT(PMIX_ERR_INIT,
         PMIx_Compute_distances(NULL, NULL, NULL, 0, &distances, &count));
  EXPECT(PMIX_ERR_INIT, PMIx_Fabric_register(&fabric, NULL, 0));
  EXPECT(PMIX_ERR_INIT, PMIx_Fabric_update(&fabric));
  EXPECT(PMIX_ERR_INIT, PMIx_Fabric_deregister(&fabric));
  const Directives data = Flag("key");
  EXPECT(PMIX_ERR_INIT, PMIx_Publish(data.info, data.count));
  EXPECT(PMIX_ERR_INIT, PMIx_Unpublish(NULL, NULL, 0));
  EXPECT(PMIX_ERR_INIT, PMIx_Log(data.info, data.count, NULL, 0));
  EXPECT(PMIX_ERR_INIT,
         PMIx_Process_monitor(data.info, 0, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_INIT, PMIx_Get_credential(NULL, 0, NULL));
  pmix_status_t code = -3000;
  EXPECT(PMIX_ERR_INIT,
         PMIx_Register_event_handler(&code, 1, NULL, 0, NULL, NULL, NULL));
}

// GEN-02: the library's version can be queried at any time (QRY-12).
static void AbiVersion(void) {
  char *keys[] = {PMIX_QUERY_STABLE_ABI_VERSION,
                  PMIX_QUERY_PROVISIONAL_ABI_VERSION, NULL};
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  pmix_info_t *results = NULL;
  size_t count = 0;
  OK(PMIx_Query_info(&query, 1, &results, &count));
  CHECK(count == 2, "%zu answers", count);
  for (size_t i = 0; i < count; ++i) {
    CHECK(results[i].value.type == PMIX_STRING, "no text");
    CHECK(strchr(results[i].value.data.string, '.') != NULL, "%s",
          results[i].value.data.string);
  }
  PMIX_INFO_FREE(results, count);
}

static void CallsOutside(void) {
  pmix_value_t number;
  pmix_value_t *value = NULL;
  pmix_proc_t *procs = NULL;
  size_t count = 0;
  char *nodes = NULL;
  Signal signal = SIGNAL_INIT;
  PMIX_VALUE_CONSTRUCT(&number);
  number.type = PMIX_UINT32;
  number.data.uint32 = 1;
  CHECK(!PMIx_Initialized(), "initialized outside");
  EXPECT(PMIX_ERR_INIT, PMIx_Put(PMIX_GLOBAL, "key", &number));
  EXPECT(PMIX_ERR_INIT, PMIx_Commit());
  EXPECT(PMIX_ERR_INIT, PMIx_Store_internal(&g_self, "key", &number));
  EXPECT(PMIX_ERR_INIT, PMIx_Get(NULL, PMIX_JOB_SIZE, NULL, 0, &value));
  EXPECT(PMIX_ERR_INIT, PMIx_Get_nb(NULL, PMIX_JOB_SIZE, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_INIT, PMIx_Fence(NULL, 0, NULL, 0));
  EXPECT(PMIX_ERR_INIT, PMIx_Fence_nb(NULL, 0, NULL, 0, RaiseOp, &signal));
  EXPECT(PMIX_ERR_INIT, PMIx_Abort(1, "outside", NULL, 0));
  EXPECT(PMIX_ERR_INIT,
         PMIx_Resolve_peers(NULL, g_self.nspace, &procs, &count));
  EXPECT(PMIX_ERR_INIT, PMIx_Resolve_nodes(g_self.nspace, &nodes));
  EXPECT(PMIX_ERR_INIT, PMIx_Notify_event(-3000, NULL, PMIX_RANGE_PROC_LOCAL,
                                          NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_INIT, PMIx_Deregister_event_handler(0, NULL, NULL));
  EXPECT(PMIX_ERR_INIT, PMIx_Finalize(NULL, 0));
  DynamicCallsOutside();
  OtherCallsOutside();
  AbiVersion();
  CHECK(CountOf(&signal) == 0, "a callback of a call that failed was called");
  PMIx_Progress();  // harmless
}

static void Version(void) {
  const char *version = PMIx_Get_version();
  CHECK(version != NULL && version == PMIx_Get_version(), "no static text");
  CHECK(version[0] > '2', "Open MPI refuses version '%s'", version);
}

static void SameIdentity(const pmix_proc_t *again) {
  CHECK(strcmp(again->nspace, g_self.nspace) == 0, "namespace %s, before %s",
        again->nspace, g_self.nspace);
  CHECK(again->rank == g_self.rank, "rank %u, before %u", again->rank,
        g_self.rank);
}

static void References(void) {
  pmix_proc_t again;
  memset(&again, 0xff, sizeof(again));
  OK(PMIx_Init(&again, NULL, 0));
  SameIdentity(&again);
  OK(PMIx_Init(NULL, NULL, 0));
  CHECK(PMIx_Initialized(), "not initialized after three PMIx_Init");
  OK(PMIx_Finalize(NULL, 0));
  OK(PMIx_Finalize(NULL, 0));
  CHECK(PMIx_Initialized(), "two of three references gone, yet finalized");
  Barrier();
}

static void Identity(void) {
  const char *nspace = getenv("PMIX_NAMESPACE");
  const char *rank = getenv("PMIX_RANK");
  CHECK(nspace != NULL && strcmp(nspace, g_self.nspace) == 0, "PMIX_NAMESPACE");
  CHECK(rank != NULL && (uint32_t)atoi(rank) == g_self.rank, "PMIX_RANK");
}

static void Arguments(void) {
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Init(NULL, NULL, 1));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Finalize(NULL, 1));
  Directives unknown = {.count = 0};
  AddFlag(&unknown, "canopy.test.unknown", true);
  OK(PMIx_Init(NULL, unknown.info, unknown.count));
  OK(PMIx_Finalize(unknown.info, unknown.count));
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Init(NULL, unknown.info, 1));
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Finalize(unknown.info, 1));
  CHECK(PMIx_Initialized(), "a PMIx_Init that failed took a reference");
}

// Directives about listeners and connections that a client does not have.
static void Transport(void) {
  static const char *const kKeys[] = {
      PMIX_USOCK_DISABLE,    PMIX_SOCKET_MODE,    PMIX_SINGLE_LISTENER,
      PMIX_TCP_REPORT_URI,   PMIX_TCP_IF_INCLUDE, PMIX_TCP_IF_EXCLUDE,
      PMIX_TCP_IPV4_PORT,    PMIX_TCP_IPV6_PORT,  PMIX_TCP_DISABLE_IPV4,
      PMIX_TCP_DISABLE_IPV6,
  };
  for (size_t i = 0; i < sizeof(kKeys) / sizeof(*kKeys); ++i) {
    Directives with = Flag(kKeys[i]);
    OK(PMIx_Init(NULL, with.info, with.count));
    OK(PMIx_Finalize(NULL, 0));
    PMIX_INFO_REQUIRED(&with.info[0]);
    EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Init(NULL, with.info, with.count));
  }
}

// GEN-03: ending another role does not end this role.
static void OtherRoles(void) {
  CHECK(PMIx_tool_finalize() < 0, "finalized a tool");
  CHECK(PMIx_server_finalize() < 0, "finalized a server");
  CHECK(PMIx_Initialized(), "the client is finalized with another role");
}

// INIT-06: directives conflict unless they agree with the directives of the
// first call.
static void Conflict(void) {
  Directives progress = {.count = 0};
  AddFlag(&progress, PMIX_EXTERNAL_PROGRESS, true);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Init(NULL, progress.info, progress.count));
  progress.info[0].value.data.flag = false;
  OK(PMIx_Init(NULL, progress.info, progress.count));
  OK(PMIx_Finalize(NULL, 0));
  CHECK(PMIx_Initialized(), "a PMIx_Init that failed took a reference");
}

// No process has finalized before rank 0, which comes last, has arrived.
static void FinalizesTogether(void) {
  char path[PMIX_MAX_NSLEN + 64];
  snprintf(path, sizeof(path), "/tmp/lifecycle.%s", g_self.nspace);
  if (g_self.rank == 0) {
    usleep(300000);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL, "no file %s", path);
    fclose(file);
  }
  const Directives barrier = Flag(PMIX_EMBED_BARRIER);
  OK(PMIx_Finalize(barrier.info, barrier.count));
  CHECK(access(path, F_OK) == 0, "finalized before rank 0 was there");
}

static void RemoveMark(void) {
  char path[PMIX_MAX_NSLEN + 64];
  snprintf(path, sizeof(path), "/tmp/lifecycle.%s", g_self.nspace);
  if (g_self.rank == 0) unlink(path);
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  Version();
  pmix_proc_t nobody = {.rank = PMIX_RANK_UNDEF};
  g_self = nobody;
  CallsOutside();
  Start(argc, argv);
  Identity();
  References();
  Arguments();
  Transport();
  OtherRoles();
  Conflict();
  AbiVersion();
  Version();
  FinalizesTogether();
  const pmix_proc_t self = g_self;
  CallsOutside();
  // A process may initialise PMIx again.
  pmix_proc_t again;
  OK(PMIx_Init(&again, NULL, 0));
  g_self = self;
  SameIdentity(&again);
  Barrier();
  RemoveMark();
  return Finish();
}
