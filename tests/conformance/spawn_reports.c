// Reports about spawned jobs by attributes of PMIx_Spawn and PMIx_Spawn_nb:
// events for a default handler of the spawner, which gets only requested
// events, and text for the launcher. Each job that the launcher reports about
// is in a line "ATTRIBUTE NAMESPACE"; run.py looks for its text.
#include <errno.h>

#include "children.h"

#ifndef PMIX_SPAWN_CHILD_SEP
#define PMIX_SPAWN_CHILD_SEP "pmix.spchildsep"
#endif

enum { kMaxEvents = 4096 };

static struct {
  pmix_status_t code;
  pmix_nspace_t nspace;
} g_events[kMaxEvents];
static Signal g_event = SIGNAL_INIT;  // raised for each of g_events

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  const int event = CountOf(&g_event);
  CHECK(event < kMaxEvents, "more events than there is room for");
  g_events[event].code = status;
  for (size_t i = 0; i < ninfo; ++i) {
    if (!PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) continue;
    PMIX_LOAD_NSPACE(g_events[event].nspace, info[i].value.data.proc->nspace);
  }
  Raise(&g_event, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static bool Is(int event, pmix_status_t code, const char *nspace) {
  return g_events[event].code == code &&
         strcmp(g_events[event].nspace, nspace) == 0;
}

static void AwaitEvent(pmix_status_t code, const char *nspace) {
  for (int event = 0;; ++event) {
    WaitFor(&g_event, event + 1);
    if (Is(event, code, nspace)) return;
  }
}

// --------------------------------------------------------------- spawning ---

static pmix_nspace_t g_spawned;

static void OnJob(pmix_status_t status, char nspace[], void *call) {
  if (status == PMIX_SUCCESS) PMIX_LOAD_NSPACE(g_spawned, nspace);
  OnSpawned(status, nspace, call);
}

// Spawns a script as a job of its own, and puts the job's name into g_spawned.
static void SpawnScript(bool nonblocking, const char *script,
                        Directives *with) {
  char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.maxprocs = 1;
  AddFlag(with, PMIX_SPAWN_CHILD_SEP, true);
  for (size_t i = 0; i < with->count; ++i) PMIX_INFO_REQUIRED(&with->info[i]);
  if (nonblocking) {
    ANSWERS(PMIX_SUCCESS, PMIx_Spawn_nb, with->info, with->count, &app, 1,
            OnJob);
  } else {
    OK(PMIx_Spawn(with->info, with->count, &app, 1, g_spawned));
  }
}

static void SpawnFlagged(bool nonblocking, const char *key,
                         const char *script) {
  Directives with = Flag(key);
  SpawnScript(nonblocking, script, &with);
}

// ------------------------------------------------------------------ events ---

static void Notified(bool nonblocking) {
  SpawnFlagged(nonblocking, PMIX_NOTIFY_COMPLETION, "true");
  AwaitEvent(PMIX_EVENT_JOB_END, g_spawned);
  SpawnFlagged(nonblocking, PMIX_NOTIFY_JOB_EVENTS, "true");
  AwaitEvent(PMIX_EVENT_JOB_START, g_spawned);
  AwaitEvent(PMIX_LAUNCH_COMPLETE, g_spawned);
  AwaitEvent(PMIX_EVENT_JOB_END, g_spawned);
  SpawnFlagged(nonblocking, PMIX_NOTIFY_PROC_TERMINATION, "true");
  AwaitEvent(PMIX_EVENT_PROC_TERMINATED, g_spawned);
  SpawnFlagged(nonblocking, PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, "exit 3");
  AwaitEvent(PMIX_EVENT_PROC_TERMINATED, g_spawned);
}

// The normal end of a job with PMIX_EVENT_SILENT_TERMINATION is not reported.
// The reported end of a later job shows that no such event is still on its way.
static void Silent(bool nonblocking) {
  pmix_nspace_t silent;
  Directives with = Flag(PMIX_NOTIFY_COMPLETION);
  AddFlag(&with, PMIX_NOTIFY_PROC_TERMINATION, true);
  AddFlag(&with, PMIX_EVENT_SILENT_TERMINATION, true);
  SpawnScript(nonblocking, "true", &with);
  PMIX_LOAD_NSPACE(silent, g_spawned);
  AwaitEvent(PMIX_EVENT_PROC_TERMINATED, silent);
  SpawnFlagged(nonblocking, PMIX_NOTIFY_COMPLETION, "true");
  AwaitEvent(PMIX_EVENT_JOB_END, g_spawned);
  for (int event = CountOf(&g_event) - 1; event >= 0; --event) {
    CHECK(!Is(event, PMIX_EVENT_JOB_END, silent), "an end was reported");
  }
}

// -------------------------------------------------------------------- text ---

static const struct {
  const char *name;
  const char *key;
  const char *script;
} kTexts[] = {
    {"map", PMIX_DISPLAY_MAP, "true"},
    {"bindings", PMIX_REPORT_BINDINGS, "true"},
    {"completion", PMIX_LOG_COMPLETION, "true"},
    {"events", PMIX_LOG_JOB_EVENTS, "true"},
    {"process", PMIX_LOG_PROC_TERMINATION, "true"},
    {"failure", PMIX_LOG_PROC_ABNORMAL_TERMINATION, "exit 3"},
};

static void Names(const char *what) {
  printf("%s %s\n", what, g_spawned);
  fflush(stdout);
}

static void Logged(bool nonblocking) {
  for (size_t i = 0; i < sizeof(kTexts) / sizeof(*kTexts); ++i) {
    SpawnFlagged(nonblocking, kTexts[i].key, kTexts[i].script);
    Names(kTexts[i].name);
  }
}

// Spawns jobs that exceed their time limit, about which the launcher gets a
// report.
static void Late(bool nonblocking) {
  static const char *const kReports[] = {PMIX_TIMEOUT_REPORT_STATE,
                                         PMIX_TIMEOUT_STACKTRACES};
  static const char *const kNames[] = {"state", "stacks"};
  pmix_nspace_t jobs[2];
  for (int i = 0; i < 2; ++i) {
    Directives with = Flag(kReports[i]);
    AddInt(&with, PMIX_JOB_TIMEOUT, 1);
    AddFlag(&with, PMIX_NOTIFY_COMPLETION, true);
    SpawnScript(nonblocking, "exec sleep 1000", &with);
    PMIX_LOAD_NSPACE(jobs[i], g_spawned);
    Names(kNames[i]);
  }
  for (int i = 0; i < 2; ++i) AwaitEvent(PMIX_EVENT_JOB_END, jobs[i]);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  if (g_self.rank == 0) {
    const pmix_status_t handler =
        PMIx_Register_event_handler(NULL, 0, NULL, 0, OnEvent, NULL, NULL);
    CHECK(handler >= 0, "registration gave %d", handler);
    for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
      Notified(nonblocking);
      Silent(nonblocking);
      Logged(nonblocking);
      Late(nonblocking);
    }
  }
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
