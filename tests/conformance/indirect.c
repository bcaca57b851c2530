// Indirect launch (chapter "Tools and Debuggers"): a tool without a server
// starts a launcher, which stops while it starts. "indirect 1 1 defers LAUNCHER
// [OPTION...]": the launcher has the whole command line, and receives
// directives for its job. "indirect 1 1 parses LAUNCHER [OPTION...]": the
// launcher has no program, and the tool spawns the job itself. "indirect 2 1
// child" is the launched program, whose rank 1 ends with 7.
#include <pmix_tool.h>
#include <time.h>

#include "check.h"
#include "release.h"

enum { kMaxWords = 32, kExitCode = 7 };

// The content of the last event of one kind.
typedef struct {
  pmix_status_t code;
  Signal signal;
  pmix_proc_t job;  // the affected job
  bool has_time;
  pmix_status_t status;  // PMIX_JOB_TERM_STATUS
  int exit_code;
  pmix_proc_t failed;  // PMIX_PROCID
} Told;

static Told g_ready = {.code = PMIX_READY_FOR_DEBUG, .signal = SIGNAL_INIT};
static Told g_start = {.code = PMIX_EVENT_JOB_START, .signal = SIGNAL_INIT};
static Told g_launched = {.code = PMIX_LAUNCH_COMPLETE, .signal = SIGNAL_INIT};
static Told g_end = {.code = PMIX_EVENT_JOB_END, .signal = SIGNAL_INIT};
static Told g_launcher = {.code = PMIX_LAUNCHER_READY, .signal = SIGNAL_INIT};
static Told *const kTold[] = {&g_ready, &g_start, &g_launched, &g_end,
                              &g_launcher};

static void Read(Told *told, const pmix_info_t *info) {
  if (PMIX_CHECK_KEY(info, PMIX_EVENT_AFFECTED_PROC)) {
    told->job = *info->value.data.proc;
  } else if (PMIX_CHECK_KEY(info, PMIX_EVENT_TIMESTAMP)) {
    told->has_time = info->value.type == PMIX_TIME;
  } else if (PMIX_CHECK_KEY(info, PMIX_JOB_TERM_STATUS)) {
    told->status = info->value.data.status;
  } else if (PMIX_CHECK_KEY(info, PMIX_EXIT_CODE)) {
    told->exit_code = info->value.data.integer;
  } else if (PMIX_CHECK_KEY(info, PMIX_PROCID)) {
    told->failed = *info->value.data.proc;
  }
}

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)results, (void)nresults;
  for (size_t i = 0; i < sizeof(kTold) / sizeof(*kTold); ++i) {
    if (kTold[i]->code != status) continue;
    kTold[i]->job = *source;
    for (size_t n = 0; n < ninfo; ++n) Read(kTold[i], &info[n]);
    Raise(&kTold[i]->signal, status);
  }
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void WatchAll(void) {
  for (size_t i = 0; i < sizeof(kTold) / sizeof(*kTold); ++i) {
    const pmix_status_t got = PMIx_Register_event_handler(
        &kTold[i]->code, 1, NULL, 0, OnEvent, NULL, NULL);
    CHECK(got >= 0, "registration gave %d", got);
  }
}

// Queries the jobs. Returns false if there are none.
static bool HasJobs(void) {
  char *keys[] = {PMIX_QUERY_NAMESPACES, NULL};
  Directives fresh = Flag(PMIX_QUERY_REFRESH_CACHE);
  pmix_query_t query = {.keys = keys};
  query.qualifiers = fresh.info;
  query.nqual = fresh.count;
  pmix_info_t *results = NULL;
  size_t count = 0;
  const pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count);
  if (status == PMIX_ERR_NOT_FOUND) return false;
  OK(status);
  const char *names = results[0].value.data.string;
  const bool some = names != NULL && names[0] != '\0';
  PMIX_INFO_FREE(results, count);
  return some;
}

static void StartLauncher(char **words, int nwords, Directives with,
                          pmix_proc_t *launcher) {
  char *argv[kMaxWords + 1] = {NULL};
  for (int i = 0; i < nwords && i < kMaxWords; ++i) argv[i] = words[i];
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(with.info, with.count, &app, 1, nspace));
  PMIX_PROC_LOAD(launcher, nspace, 0);
  Directives wait = Flag(PMIX_WAIT_FOR_CONNECTION);
  AddInt(&wait, PMIX_TIMEOUT, 60);
  OK(PMIx_tool_set_server(launcher, wait.info, wait.count));
}

// Checks that the job is over and that its event reports the end.
static void SeesTheEnd(const char *nspace) {
  EXPECT(PMIX_EVENT_JOB_END, WaitFor(&g_end.signal, 1));
  CHECK(strcmp(g_end.job.nspace, nspace) == 0, "of %s", g_end.job.nspace);
  CHECK(g_end.has_time, "no PMIX_EVENT_TIMESTAMP");
  CHECK(g_end.status != PMIX_SUCCESS, "PMIX_JOB_TERM_STATUS is success");
  CHECK(g_end.exit_code == kExitCode, "PMIX_EXIT_CODE %d", g_end.exit_code);
  CHECK(g_end.failed.rank == 1 && strcmp(g_end.failed.nspace, nspace) == 0,
        "PMIX_PROCID %s:%u", g_end.failed.nspace, g_end.failed.rank);
}

// Checks the events of a job that has stopped in PMIx_Init.
static void SeesTheLaunch(const char *nspace) {
  EXPECT(PMIX_READY_FOR_DEBUG, WaitFor(&g_ready.signal, 1));
  EXPECT(PMIX_LAUNCH_COMPLETE, WaitFor(&g_launched.signal, 1));
  EXPECT(PMIX_EVENT_JOB_START, WaitFor(&g_start.signal, 1));
  if (nspace == NULL) nspace = g_ready.job.nspace;
  for (int i = 0; i < 3; ++i) {
    CHECK(strcmp(kTold[i]->job.nspace, nspace) == 0, "%s is of %s, not of %s",
          PMIx_Error_string(kTold[i]->code), kTold[i]->job.nspace, nspace);
  }
  CHECK(g_launched.has_time && g_start.has_time, "no PMIX_EVENT_TIMESTAMP");
  CHECK(CountOf(&g_end.signal) == 0, "it has ended while it was stopped");
  Release(nspace, PMIX_RANK_WILDCARD);
  SeesTheEnd(nspace);
}

static void Defers(char **words, int nwords) {
  const pmix_rank_t all = PMIX_RANK_WILDCARD;
  Directives of_job = Flag(PMIX_NOTIFY_JOB_EVENTS);
  AddFlag(&of_job, PMIX_FWD_STDOUT, true);
  pmix_info_t *stop = NextInfo(&of_job, PMIX_DEBUG_STOP_IN_INIT);
  stop->value.type = PMIX_PROC_RANK;
  stop->value.data.rank = all;
  pmix_data_array_t array = {PMIX_INFO, of_job.count, of_job.info};
  Directives list = Flag(PMIX_SPAWN_TOOL);
  AddFlag(&list, PMIX_DEBUG_STOP_IN_INIT, true);
  pmix_info_t *directives = NextInfo(&list, PMIX_LAUNCH_DIRECTIVES);
  directives->value.type = PMIX_DATA_ARRAY;
  directives->value.data.darray = &array;
  pmix_proc_t launcher;
  StartLauncher(words, nwords, list, &launcher);
  WatchAll();
  CHECK(!HasJobs(), "the launcher has not stopped");
  CHECK(CountOf(&g_start.signal) == 0, "a job has started");
  Release(launcher.nspace, launcher.rank);
  SeesTheLaunch(NULL);
}

static void SpawnJob(char *program, pmix_nspace_t nspace) {
  char *argv[] = {program, "2", "1", "child", NULL};
  Directives list = Flag(PMIX_DEBUG_STOP_IN_INIT);
  AddFlag(&list, PMIX_NOTIFY_JOB_EVENTS, true);
  AddText(&list, PMIX_MAPBY, "slot:oversubscribe");
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = program;
  app.argv = argv;
  app.maxprocs = 2;
  OK(PMIx_Spawn(list.info, list.count, &app, 1, nspace));
}

static void Parses(char *program, char **words, int nwords) {
  pmix_proc_t launcher;
  pmix_nspace_t nspace;
  // The launcher is ready only after its release.
  StartLauncher(words, nwords, Flag(PMIX_DEBUG_STOP_IN_INIT), &launcher);
  WatchAll();
  CHECK(CountOf(&g_launcher.signal) == 0, "ready while it was stopped");
  Release(launcher.nspace, launcher.rank);
  EXPECT(PMIX_LAUNCHER_READY, WaitFor(&g_launcher.signal, 1));
  CHECK(strcmp(g_launcher.job.nspace, launcher.nspace) == 0, "%s is ready",
        g_launcher.job.nspace);
  SpawnJob(program, nspace);
  SeesTheLaunch(nspace);
}

static int Child(void) {
  OK(PMIx_Init(&g_self, NULL, 0));
  OK(PMIx_Finalize(NULL, 0));
  return g_self.rank == 1 ? kExitCode : 0;
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  CHECK(argc > 3, "no word");
  if (strcmp(argv[3], "child") == 0) return Child();
  CHECK(argc > 4, "no launcher");
  Directives alone = Flag(PMIX_TOOL_DO_NOT_CONNECT);
  AddFlag(&alone, PMIX_LAUNCHER, true);
  OK(PMIx_tool_init(&g_self, alone.info, alone.count));
  if (strcmp(argv[3], "defers") == 0) {
    Defers(argv + 4, argc - 4);
  } else {
    Parses(argv[0], argv + 4, argc - 4);
  }
  OK(PMIx_tool_finalize());
  g_self.rank = 0;
  return Kept();
}
