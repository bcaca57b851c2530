// A process without an agent. The process is a job of its own.
#include "check.h"

static void Data(void) {
  PutText(PMIX_GLOBAL, "posted", "for myself");
  OK(PMIx_Commit());
  FenceCollect();
  char *text = MustGetText(NULL, "posted", NULL);
  CHECK(strcmp(text, "for myself") == 0, "%s", text);
  free(text);
  MustFail(PMIX_ERR_NOT_FOUND, NULL, "never", NULL);
  const pmix_proc_t nobody = ProcOf(1);
  MustFail(PMIX_ERR_NOT_FOUND, &nobody, "never", NULL);
}

static void JobData(void) {
  CHECK(MustGetNumber(&g_job, PMIX_UNIV_SIZE, NULL, PMIX_UINT32) == 1,
        "a universe of more than one");
  CHECK(MustGetNumber(&g_job, PMIX_LOCAL_SIZE, NULL, PMIX_UINT32) == 1,
        "more than one here");
  CHECK(MustGetNumber(&g_self, PMIX_LOCAL_RANK, NULL, PMIX_UINT16) == 0,
        "not the first");
  CHECK(MustGetNumber(&g_self, PMIX_APPNUM, NULL, PMIX_UINT32) == 0,
        "not the first");
  char host[256];
  CHECK(gethostname(host, sizeof(host)) == 0, "no host name");
  char *name = MustGetText(&g_self, PMIX_HOSTNAME, NULL);
  CHECK(strcmp(name, host) == 0, "host %s, not %s", name, host);
  free(name);
  const char *texts[] = {PMIX_NODE_MAP, PMIX_PROC_MAP, PMIX_CMD_LINE,
                         PMIX_TMPDIR};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    char *text = MustGetText(&g_job, texts[i], NULL);
    CHECK(text[0] != '\0', "%s is empty", texts[i]);
    free(text);
  }
  // The process has no launcher that made directories for it.
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_RM_NAME, NULL);
  MustFail(PMIX_ERR_NOT_FOUND, &g_job, PMIX_NSDIR, NULL);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, PMIX_PROCDIR, NULL);
}

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)source, (void)ninfo, (void)results, (void)nresults;
  Raise(info[0].value.data.ptr, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void Events(void) {
  Signal heard = SIGNAL_INIT;
  pmix_status_t code = -30001;
  Directives object = {.count = 0};
  pmix_info_t *info = NextInfo(&object, PMIX_EVENT_RETURN_OBJECT);
  info->value.type = PMIX_POINTER;
  info->value.data.ptr = &heard;
  CHECK(PMIx_Register_event_handler(&code, 1, object.info, 1, OnEvent, NULL,
                                    NULL) >= 0,
        "not registered");
  OK(PMIx_Notify_event(code, NULL, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
  EXPECT(code, WaitFor(&heard, 1));
}

static void Alone(void) {
  pmix_proc_t other;
  PMIX_PROC_LOAD(&other, "another-job", PMIX_RANK_WILDCARD);
  pmix_proc_t both[2] = {g_job, other};
  CHECK(PMIx_Fence(both, 2, NULL, 0) < 0, "met another job");
  EXPECT(PMIX_ERR_UNREACH, PMIx_Abort(1, "nobody hears it", NULL, 0));
  char *nodes = NULL;
  OK(PMIx_Resolve_nodes(g_self.nspace, &nodes));
  free(nodes);
  pmix_proc_t *procs = NULL;
  size_t count = 0;
  OK(PMIx_Resolve_peers(NULL, g_self.nspace, &procs, &count));
  CHECK(count == 1 && procs[0].rank == 0, "%zu peers", count);
  PMIX_PROC_FREE(procs, count);
}

// There is no server that keeps data, starts processes or has other jobs.
static void Unreachable(void) {
  Directives data = {.count = 0};
  AddU32(&data, "key", 1);
  pmix_pdata_t wanted;
  PMIX_PDATA_CONSTRUCT(&wanted);
  PMIX_LOAD_KEY(wanted.key, "key");
  char *argv[] = {(char *)"true", NULL};
  pmix_app_t app;
  memset(&app, 0, sizeof(app));
  app.cmd = (char *)"/bin/true";
  app.argv = argv;
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  EXPECT(PMIX_ERR_UNREACH, PMIx_Publish(data.info, 1));
  EXPECT(PMIX_ERR_UNREACH, PMIx_Lookup(&wanted, 1, NULL, 0));
  EXPECT(PMIX_ERR_UNREACH, PMIx_Unpublish(NULL, NULL, 0));
  EXPECT(PMIX_ERR_UNREACH, PMIx_Spawn(NULL, 0, &app, 1, nspace));
  EXPECT(PMIX_ERR_UNREACH, PMIx_Connect(&g_job, 1, NULL, 0));
  EXPECT(PMIX_ERR_UNREACH, PMIx_Disconnect(&g_job, 1, NULL, 0));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(g_self.rank == 0, "rank %u", g_self.rank);
  CHECK(g_self.nspace[0] != '\0', "no namespace");
  Data();
  JobData();
  Events();
  Alone();
  Unreachable();
  return Finish();
}
