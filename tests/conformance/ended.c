// Events about the last rank, which ends badly. WORD: "killed" (SIGKILL),
// "exit" (status 3), "deserter" (status 0 without PMIx_Finalize), "abort"
// (PMIx_Abort of only itself). The other ranks ignore SIGTERM until they have
// received the event.
#include "check.h"

static Signal g_heard = SIGNAL_INIT;
static Signal g_default = SIGNAL_INIT;
static int g_code;

static const pmix_info_t *FindInfo(const pmix_info_t *info, size_t ninfo,
                                   const char *key) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, key) == 0) return &info[i];
  }
  return NULL;
}

static void OnEnd(size_t id, pmix_status_t status, const pmix_proc_t *source,
                  pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                  size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                  void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  const pmix_info_t *who = FindInfo(info, ninfo, PMIX_EVENT_AFFECTED_PROC);
  CHECK(who != NULL && who->value.type == PMIX_PROC, "nobody is named");
  // Events about other processes follow when the job is being ended.
  if (who->value.data.proc->rank == g_size - 1) {
    const pmix_info_t *code = FindInfo(info, ninfo, PMIX_EXIT_CODE);
    CHECK(code != NULL && code->value.type == PMIX_INT, "no exit code");
    CHECK(strcmp(who->value.data.proc->nspace, g_self.nspace) == 0, "job %s",
          who->value.data.proc->nspace);
    g_code = code->value.data.integer;
    Raise(&g_heard, status);
  }
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void OnAny(size_t id, pmix_status_t status, const pmix_proc_t *source,
                  pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                  size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                  void *cbdata) {
  (void)id, (void)source, (void)info, (void)ninfo, (void)results;
  (void)nresults;
  Raise(&g_default, status);
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void End(const char *word) {
  if (strcmp(word, "killed") == 0) raise(SIGKILL);
  if (strcmp(word, "exit") == 0) _exit(3);
  if (strcmp(word, "deserter") == 0) _exit(0);
  PMIx_Abort(17, "alone", &g_self, 1);
  CHECK(false, "still here");
}

int main(int argc, char **argv) {
  signal(SIGTERM, SIG_IGN);
  Start(argc, argv);
  CHECK(argc > 3, "no word");
  const char *word = argv[3];
  if (g_self.rank == g_size - 1) {
    signal(SIGTERM, SIG_DFL);
    Barrier();
    End(word);
  }
  pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_TERM_WO_SYNC};
  CHECK(PMIx_Register_event_handler(codes, 2, NULL, 0, OnEnd, NULL, NULL) >= 0,
        "not registered");
  CHECK(PMIx_Register_event_handler(NULL, 0, NULL, 0, OnAny, NULL, NULL) >= 0,
        "not registered");
  Barrier();
  // A fence in which the ended process would take part fails.
  const pmix_status_t fence = PMIx_Fence(NULL, 0, NULL, 0);
  const bool left = strcmp(word, "deserter") == 0;
  CHECK(fence == PMIX_ERR_PROC_ABORTED || fence == PMIX_ERR_PROC_TERM_WO_SYNC,
        "the fence: %s", PMIx_Error_string(fence));
  const pmix_status_t heard = WaitFor(&g_heard, 1);
  CHECK(heard == (left ? PMIX_ERR_PROC_TERM_WO_SYNC : PMIX_ERR_PROC_ABORTED),
        "heard %s", PMIx_Error_string(heard));
  int want = 0;
  if (strcmp(word, "killed") == 0) want = 128 + SIGKILL;
  if (strcmp(word, "exit") == 0) want = 3;
  if (strcmp(word, "abort") == 0) want = 128 + SIGTERM;
  CHECK(g_code == want, "exit code %d, not %d", g_code, want);
  const pmix_proc_t gone = ProcOf(g_size - 1);
  pmix_value_t *code = MustGet(&gone, PMIX_EXIT_CODE, NULL, PMIX_INT);
  CHECK(code->data.integer == want, "exit code %d, not %d", code->data.integer,
        want);
  PMIX_VALUE_RELEASE(code);
  (void)WaitFor(&g_default, 1);
  return Kept();
}
