// Events about the life of other jobs, for processes that register for the
// codes: each event arrives once, on every node, and never in a default handler
// unless the spawner has requested it. Rank 0 spawns jobs that end in various
// ways. The last rank registers when they are over.
#include <errno.h>

#include "check.h"

#ifndef PMIX_SPAWN_CHILD_SEP
#define PMIX_SPAWN_CHILD_SEP "pmix.spchildsep"
#endif
// These codes are newer than some headers.
enum { kKilledByCmd = -400, kAbortedBySig = -402, kNonzeroTerm = -404 };

enum { kMaxSeen = 4096, kProcs = 2 };

static const pmix_status_t kCodes[] = {PMIX_EVENT_JOB_START,
                                       PMIX_LAUNCH_COMPLETE,
                                       PMIX_EVENT_JOB_END,
                                       PMIX_ERR_JOB_ABORTED,
                                       PMIX_ERR_JOB_KILLED_BY_CMD,
                                       PMIX_ERR_JOB_ABORTED_BY_SIG,
                                       PMIX_ERR_JOB_TERM_WO_SYNC,
                                       PMIX_ERR_JOB_NON_ZERO_TERM,
                                       PMIX_EVENT_PROC_TERMINATED,
                                       kKilledByCmd,
                                       kAbortedBySig,
                                       kNonzeroTerm};
enum { kNumCodes = sizeof(kCodes) / sizeof(kCodes[0]) };

// How a job ends, and which events report it. All jobs have one start, launch
// and end event each, and an end event for every process.
typedef struct {
  const char *word;
  pmix_status_t job;   // code of the job's failure; 0: none
  pmix_status_t proc;  // code of the processes' failures; 0: none
  int procs;           // minimum number of processes with this code
  int exit_code;       // of one of these processes
} Ending;

static const Ending kEndings[] = {
    {"well", 0, 0, 0, 0},
    {"exits", PMIX_ERR_JOB_NON_ZERO_TERM, kNonzeroTerm, 1, 3},
    {"crashes", PMIX_ERR_JOB_ABORTED_BY_SIG, kAbortedBySig, 1, 128 + SIGKILL},
    {"deserts", PMIX_ERR_JOB_TERM_WO_SYNC, 0, 0, 0},
    {"aborts", PMIX_ERR_JOB_ABORTED, kKilledByCmd, 1, 128 + SIGTERM},
    {"waits", PMIX_ERR_JOB_KILLED_BY_CMD, kKilledByCmd, kProcs, 128 + SIGKILL},
    {"asked", 0, 0, 0, 0}};
enum { kNumEndings = sizeof(kEndings) / sizeof(kEndings[0]) };

typedef struct {
  pmix_status_t code;
  pmix_proc_t proc;
  int exit_code;
  bool by_default;
} Seen;

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static Seen g_seen[kMaxSeen];
static int g_num_seen;
static char g_path[4096];  // path of this program

static const pmix_info_t *FindInfo(const pmix_info_t *info, size_t ninfo,
                                   const char *key) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, key) == 0) return &info[i];
  }
  return NULL;
}

static bool IsOfJob(pmix_status_t code) {
  return code != PMIX_EVENT_PROC_TERMINATED && code > kKilledByCmd;
}

// Checks the attributes that the Standard requires in every event of a job.
static void CheckJobEvent(pmix_status_t code, const pmix_proc_t *affected,
                          const pmix_info_t *info, size_t ninfo) {
  const pmix_info_t *name = FindInfo(info, ninfo, PMIX_NSPACE);
  CHECK(name != NULL && name->value.type == PMIX_STRING &&
            strcmp(name->value.data.string, affected->nspace) == 0,
        "%d without the job's name", code);
  const pmix_info_t *when = FindInfo(info, ninfo, PMIX_EVENT_TIMESTAMP);
  CHECK(when != NULL && when->value.type == PMIX_TIME, "%d without a time",
        code);
  CHECK(affected->rank == PMIX_RANK_WILDCARD, "%d of rank %u", code,
        affected->rank);
  const pmix_info_t *status = FindInfo(info, ninfo, PMIX_JOB_TERM_STATUS);
  CHECK(code != PMIX_EVENT_JOB_END ||
            (status != NULL && status->value.type == PMIX_STATUS),
        "an end without a status");
}

static void Note(pmix_status_t code, const pmix_info_t *info, size_t ninfo,
                 bool by_default) {
  const pmix_info_t *who = FindInfo(info, ninfo, PMIX_EVENT_AFFECTED_PROC);
  if (who == NULL || who->value.type != PMIX_PROC) {
    CHECK(by_default, "%d names nobody", code);
    return;
  }
  const pmix_info_t *exit_code = FindInfo(info, ninfo, PMIX_EXIT_CODE);
  if (IsOfJob(code) && !by_default) {
    CheckJobEvent(code, who->value.data.proc, info, ninfo);
  }
  pthread_mutex_lock(&g_lock);
  CHECK(g_num_seen < kMaxSeen, "too many events");
  Seen *seen = &g_seen[g_num_seen++];
  seen->code = code;
  seen->proc = *who->value.data.proc;
  seen->exit_code = exit_code == NULL ? -1 : exit_code->value.data.integer;
  seen->by_default = by_default;
  pthread_cond_broadcast(&g_changed);
  pthread_mutex_unlock(&g_lock);
}

static void OnCode(size_t id, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                   size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                   void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  Note(status, info, ninfo, false);
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void OnAny(size_t id, pmix_status_t status, const pmix_proc_t *source,
                  pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                  size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                  void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  Note(status, info, ninfo, true);
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static void Register(void) {
  pmix_status_t codes[kNumCodes];
  memcpy(codes, kCodes, sizeof(codes));
  CHECK(PMIx_Register_event_handler(codes, kNumCodes, NULL, 0, OnCode, NULL,
                                    NULL) >= 0,
        "not registered");
  CHECK(PMIx_Register_event_handler(NULL, 0, NULL, 0, OnAny, NULL, NULL) >= 0,
        "not registered");
}

// Returns the number of the job's events with the code, and the last exit code
// that is not 0.
static int CountSeen(const char *nspace, pmix_status_t code, bool by_default,
                     int *exit_code) {
  int count = 0;
  for (int i = 0; i < g_num_seen; ++i) {
    const Seen *seen = &g_seen[i];
    if (strcmp(seen->proc.nspace, nspace) != 0) continue;
    if (seen->code != code || seen->by_default != by_default) continue;
    ++count;
    if (exit_code != NULL && seen->exit_code > 0) *exit_code = seen->exit_code;
  }
  return count;
}

static void AwaitSeen(const char *nspace, pmix_status_t code, int count) {
  pthread_mutex_lock(&g_lock);
  CHECK(true, "%d", code);
  while (CountSeen(nspace, code, false, NULL) < count) {
    pthread_cond_wait(&g_changed, &g_lock);
  }
  pthread_mutex_unlock(&g_lock);
}

static void Await(const char *nspace, const Ending *ending) {
  AwaitSeen(nspace, PMIX_EVENT_JOB_START, 1);
  AwaitSeen(nspace, PMIX_LAUNCH_COMPLETE, 1);
  AwaitSeen(nspace, PMIX_EVENT_PROC_TERMINATED, kProcs);
  if (ending->proc != 0) AwaitSeen(nspace, ending->proc, ending->procs);
  if (ending->job != 0) AwaitSeen(nspace, ending->job, 1);
  AwaitSeen(nspace, PMIX_EVENT_JOB_END, 1);
}

// Each event that this ending causes must have arrived once, and no event of
// another failure.
static void CheckJob(const char *nspace, const Ending *ending) {
  for (int i = 0; i < kNumCodes; ++i) {
    const pmix_status_t code = kCodes[i];
    if (!IsOfJob(code)) continue;
    const bool want = code == PMIX_EVENT_JOB_START || code == ending->job ||
                      code == PMIX_LAUNCH_COMPLETE ||
                      code == PMIX_EVENT_JOB_END;
    const int count = CountSeen(nspace, code, false, NULL);
    CHECK(count == (want ? 1 : 0), "%s: %d events %s", ending->word, count,
          PMIx_Error_string(code));
  }
}

static void CheckProcs(const char *nspace, const Ending *ending) {
  int exit_code = 0;
  int count = CountSeen(nspace, PMIX_EVENT_PROC_TERMINATED, false, NULL);
  CHECK(count == kProcs, "%s: %d ends of processes", ending->word, count);
  if (ending->proc == 0) return;
  count = CountSeen(nspace, ending->proc, false, &exit_code);
  CHECK(count >= ending->procs && count <= kProcs, "%s: %d events %s",
        ending->word, count, PMIx_Error_string(ending->proc));
  CHECK(count > 1 || exit_code == ending->exit_code, "%s: exit code %d",
        ending->word, exit_code);
}

static void CheckDefault(const char *nspace, const Ending *ending) {
  const bool asked = strcmp(ending->word, "asked") == 0 && g_self.rank == 0;
  for (int i = 0; i < kNumCodes; ++i) {
    int want = 0;
    if (asked && kCodes[i] == PMIX_EVENT_PROC_TERMINATED) want = kProcs;
    if (asked && IsOfJob(kCodes[i])) {
      want = CountSeen(nspace, kCodes[i], false, NULL);
    }
    const int count = CountSeen(nspace, kCodes[i], true, NULL);
    CHECK(count == want, "%s: %d events %s in a default handler", ending->word,
          count, PMIx_Error_string(kCodes[i]));
  }
}

// ------------------------------------------------------------------ jobs ---

// Waits until the spawner was notified that the whole job runs. Failures before
// that are reported to the spawner only.
static void AwaitGo(const char *nspace) {
  pmix_pdata_t go;
  PMIX_PDATA_CONSTRUCT(&go);
  snprintf(go.key, sizeof(go.key), "go.%s", nspace);
  Directives wait = {.count = 0};
  AddInt(&wait, PMIX_WAIT, 0);
  OK(PMIx_Lookup(&go, 1, wait.info, wait.count));
  PMIX_PDATA_DESTRUCT(&go);
}

static void PublishGo(const char *nspace) {
  char key[PMIX_MAX_KEYLEN + 1];
  snprintf(key, sizeof(key), "go.%s", nspace);
  Directives go = Flag(key);
  OK(PMIx_Publish(go.info, go.count));
}

static void End(const char *word) {
  pmix_proc_t self;
  if (strcmp(word, "waits") == 0) pause();
  if (strcmp(word, "well") == 0 || strcmp(word, "asked") == 0) return;
  OK(PMIx_Init(&self, NULL, 0));
  AwaitGo(self.nspace);
  if (strcmp(word, "crashes") == 0) raise(SIGKILL);
  if (strcmp(word, "exits") == 0) _exit(3);
  if (self.rank == 0 && word[0] == 'a') PMIx_Abort(9, "by the test", NULL, 0);
  if (self.rank == 0) _exit(0);
  pause();
}

static void SpawnOne(const Ending *ending, pmix_nspace_t nspace) {
  char *argv[] = {g_path,          (char *)"0",          (char *)"0",
                  (char *)"child", (char *)ending->word, NULL};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = g_path;
  app.argv = argv;
  app.maxprocs = kProcs;
  Directives with = Flag(PMIX_SPAWN_CHILD_SEP);
  AddText(&with, PMIX_MAPBY, "node:oversubscribe");
  if (strcmp(ending->word, "asked") == 0) {
    AddFlag(&with, PMIX_NOTIFY_JOB_EVENTS, true);
    AddFlag(&with, PMIX_NOTIFY_PROC_TERMINATION, true);
  }
  OK(PMIx_Spawn(with.info, with.count, &app, 1, nspace));
  PublishGo(nspace);
  if (strcmp(ending->word, "waits") != 0) return;
  pmix_proc_t all;
  PMIX_PROC_LOAD(&all, nspace, PMIX_RANK_WILDCARD);
  const Directives kill = Flag(PMIX_JOB_CTRL_KILL);
  OK(PMIx_Job_control(&all, 1, kill.info, kill.count, NULL, NULL));
}

static void KeyOf(int ending, char *key) { sprintf(key, "child.%d", ending); }

static void OneJob(int i, pmix_nspace_t nspace) {
  char key[32];
  KeyOf(i, key);
  if (g_self.rank == 0) {
    SpawnOne(&kEndings[i], nspace);
    PutText(PMIX_GLOBAL, key, nspace);
    OK(PMIx_Commit());
  }
  FenceCollect();
  const pmix_proc_t first = ProcOf(0);
  char *name = MustGetText(&first, key, NULL);
  strcpy(nspace, name);
  free(name);
}

int main(int argc, char **argv) {
  if (argc > 4 && strcmp(argv[3], "child") == 0) {
    End(argv[4]);
    return 0;
  }
  Start(argc, argv);
  const ssize_t n = readlink("/proc/self/exe", g_path, sizeof(g_path) - 1);
  CHECK(n > 0, "%s", strerror(errno));
  const bool late = g_self.rank == g_size - 1;
  if (!late) Register();
  Barrier();
  static pmix_nspace_t jobs[kNumEndings];
  for (int i = 0; i < kNumEndings; ++i) {
    OneJob(i, jobs[i]);
    if (!late) Await(jobs[i], &kEndings[i]);
  }
  Barrier();
  if (late) Register();
  for (int i = 0; i < kNumEndings; ++i) {
    AwaitSeen(jobs[i], PMIX_EVENT_JOB_END, 1);
  }
  // A duplicate event would have arrived when this barrier is passed.
  Barrier();
  pthread_mutex_lock(&g_lock);
  for (int i = 0; i < kNumEndings; ++i) {
    CheckJob(jobs[i], &kEndings[i]);
    if (!late) CheckProcs(jobs[i], &kEndings[i]);
    CheckDefault(jobs[i], &kEndings[i]);
  }
  pthread_mutex_unlock(&g_lock);
  return Finish();
}
