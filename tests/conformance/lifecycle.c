// PMIx_Init, PMIx_Initialized, PMIx_Finalize, PMIx_Get_version, PMIx_Progress:
// references are counted, calls outside fail with PMIX_ERR_INIT.
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
  CHECK(PMIx_Initialized(), "a PMIx_Init that failed took a reference");
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
  Version();
  const Directives barrier = Flag(PMIX_EMBED_BARRIER);
  OK(PMIx_Finalize(barrier.info, barrier.count));
  const pmix_proc_t self = g_self;
  CallsOutside();
  // A process may come back.
  pmix_proc_t again;
  OK(PMIx_Init(&again, NULL, 0));
  g_self = self;
  SameIdentity(&again);
  Barrier();
  return Finish();
}
