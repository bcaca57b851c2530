// PMIx_Spawn and PMIx_Spawn_nb: rejected calls with their reasons, and the data
// that parent and child have of each other. A child is this program with the
// words "child", the namespace and the rank of its parent, and a mode.
#include <errno.h>

#include "check.h"

enum { kMaxWords = 16 };

static char g_path[4096];  // path of this program

// ---------------------------------------------------------------- child ---

enum { kParentWord = 4, kRankWord, kModeWord };

static pmix_proc_t ParentOf(char **argv) {
  pmix_proc_t parent;
  PMIX_PROC_LOAD(&parent, argv[kParentWord],
                 (pmix_rank_t)atoi(argv[kRankWord]));
  return parent;
}

static void KnowsItsParent(const pmix_proc_t *parent) {
  pmix_value_t *value = MustGet(&g_job, PMIX_SPAWNED, NULL, PMIX_BOOL);
  CHECK(value->data.flag, "not spawned");
  PMIX_VALUE_RELEASE(value);
  value = MustGet(&g_job, PMIX_PARENT_ID, NULL, PMIX_PROC);
  CHECK(PMIX_CHECK_PROCID(value->data.proc, parent), "its parent is %s.%u",
        value->data.proc->nspace, value->data.proc->rank);
  PMIX_VALUE_RELEASE(value);
}

// Checks environment and directory, which the application's description sets.
static void RunsAsDescribed(int argc, char **argv) {
  CHECK(argc > kModeWord + 2, "no words");
  const char *colour = getenv("CONFORMANCE_COLOUR");
  CHECK(colour != NULL && strcmp(colour, argv[kModeWord + 1]) == 0,
        "the colour is %s", colour == NULL ? "none" : colour);
  char here[4096];
  CHECK(getcwd(here, sizeof(here)) != NULL, "%s", strerror(errno));
  CHECK(strcmp(here, argv[kModeWord + 2]) == 0, "runs in %s", here);
}

static const char *Variable(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? "(unset)" : value;
}

// PROC-10: edits of the job, and then edits of the application, have changed
// the variables of the application.
static void HasEditedVariables(void) {
  CHECK(strcmp(Variable("CONFORMANCE_LIST"), "app:env:job") == 0, "it is %s",
        Variable("CONFORMANCE_LIST"));
  CHECK(strcmp(Variable("CONFORMANCE_GONE"), "(unset)") == 0, "it is %s",
        Variable("CONFORMANCE_GONE"));
  CHECK(strcmp(Variable("CONFORMANCE_ADDED"), "env") == 0, "it is %s",
        Variable("CONFORMANCE_ADDED"));
}

static void JobHasNumber(const char *key, uint32_t want) {
  const uint32_t number = MustGetNumber(&g_job, key, NULL, PMIX_UINT32);
  CHECK(number == want, "%s is %u, not %u", key, number, want);
}

// The directives of the spawn are read with the rank wildcard.
static void KnowsItsPolicies(void) {
  JobHasNumber(PMIX_CPUS_PER_PROC, 1);
  JobHasNumber(PMIX_MAX_RESTARTS, 3);
  char *cpus = MustGetText(&g_job, PMIX_CPU_LIST, NULL);
  CHECK(strcmp(cpus, "0") == 0, "the list of CPUs is %s", cpus);
  free(cpus);
}

// This job and its parent's job can read data of each other, and fence
// together. A parent that has ended has no data.
static void Meets(const pmix_proc_t *parent) {
  pmix_proc_t job = *parent;
  job.rank = PMIX_RANK_WILDCARD;
  CHECK(MustGetNumber(&job, PMIX_JOB_SIZE, NULL, PMIX_UINT32) > 0,
        "the parent's job has no size");
  PutU32(PMIX_GLOBAL, "of the child", 500 + g_self.rank);
  OK(PMIx_Commit());
  const pmix_proc_t set[2] = {*parent, g_job};
  OK(PMIx_Fence(set, 2, NULL, 0));
  CHECK(MustGetNumber(parent, "of the parent", NULL, PMIX_UINT32) == 400,
        "another number");
  // The parent must have read the data too before the job ends, because the
  // data ends with the job.
  OK(PMIx_Fence(set, 2, NULL, 0));
}

static int Child(int argc, char **argv) {
  Start(argc, argv);
  g_program = "child";
  CHECK(argc > kModeWord, "no words");
  const pmix_proc_t parent = ParentOf(argv);
  KnowsItsParent(&parent);
  if (strcmp(argv[kModeWord], "described") == 0) RunsAsDescribed(argc, argv);
  if (strcmp(argv[kModeWord], "edited") == 0) HasEditedVariables();
  if (strcmp(argv[kModeWord], "policies") == 0) KnowsItsPolicies();
  if (strcmp(argv[kModeWord], "meets") == 0) Meets(&parent);
  return Finish();
}

// --------------------------------------------------------------- parent ---

typedef struct {
  pmix_app_t app;
  char *argv[kMaxWords];
  char *env[2];
  char texts[3][300];
} App;

// Describes this program as an application of the child, which has `size`
// processes in total.
static void Describe(App *out, int maxprocs, int size, const char *mode) {
  memset(out, 0, sizeof(*out));
  snprintf(out->texts[0], sizeof(out->texts[0]), "%d", size);
  snprintf(out->texts[1], sizeof(out->texts[1]), "%s", g_self.nspace);
  snprintf(out->texts[2], sizeof(out->texts[2]), "%u", g_self.rank);
  char *argv[] = {g_path,        out->texts[0], (char *)"1", (char *)"child",
                  out->texts[1], out->texts[2], (char *)mode};
  memcpy(out->argv, argv, sizeof(argv));
  out->app.cmd = g_path;
  out->app.argv = out->argv;
  out->app.maxprocs = maxprocs;
}

static void SizeIs(const char *nspace, uint32_t size) {
  pmix_proc_t child;
  PMIX_PROC_LOAD(&child, nspace, PMIX_RANK_WILDCARD);
  CHECK(MustGetNumber(&child, PMIX_JOB_SIZE, NULL, PMIX_UINT32) == size,
        "%s has another size than %u", nspace, size);
}

static Signal g_spawned = SIGNAL_INIT;
static pmix_nspace_t g_child;

static void OnSpawned(pmix_status_t status, char nspace[], void *cbdata) {
  if (status == PMIX_SUCCESS) PMIX_LOAD_NSPACE(g_child, nspace);
  Raise(cbdata, status);
}

static void WrongArguments(void) {
  App good, bad;
  Describe(&good, 1, 1, "plain");
  pmix_nspace_t nspace;
  Signal done = SIGNAL_INIT;
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Spawn(NULL, 0, NULL, 0, nspace));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Spawn(NULL, 0, &good.app, 0, nspace));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Spawn(NULL, 1, &good.app, 1, nspace));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Spawn_nb(NULL, 0, NULL, 0, OnSpawned, &done));
  Describe(&bad, -1, 1, "plain");
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Spawn(NULL, 0, &bad.app, 1, nspace));
  bad.app.maxprocs = 1;
  bad.app.cmd = NULL;
  bad.app.argv = NULL;
  EXPECT(PMIX_ERR_JOB_NO_EXE_SPECIFIED,
         PMIx_Spawn(NULL, 0, &bad.app, 1, nspace));
  CHECK(CountOf(&done) == 0, "a call that was refused called back");
}

static void MustNotStart(pmix_status_t want, const App *app,
                         const Directives *with) {
  pmix_nspace_t nspace;
  EXPECT(want, PMIx_Spawn(with->info, with->count, &app->app, 1, nspace));
  const int before = CountOf(&g_spawned);
  OK(PMIx_Spawn_nb(with->info, with->count, &app->app, 1, OnSpawned,
                   &g_spawned));
  EXPECT(want, WaitFor(&g_spawned, before + 1));
}

// Checks each failure and its status.
static void Failures(void) {
  const Directives none = {.count = 0};
  App app;
  Describe(&app, 1, 1, "plain");
  app.app.cmd = (char *)"/no/such/program";
  MustNotStart(PMIX_ERR_JOB_EXE_NOT_FOUND, &app, &none);
  app.app.cmd = (char *)"/etc/passwd";
  MustNotStart(PMIX_ERR_JOB_APP_NOT_EXECUTABLE, &app, &none);
  Describe(&app, 1, 1, "plain");
  app.app.cwd = (char *)"/no/such/directory";
  MustNotStart(PMIX_ERR_JOB_WDIR_NOT_FOUND, &app, &none);
  const Directives full = Flag(PMIX_NO_OVERSUBSCRIBE);
  Describe(&app, 1 << 20, 1 << 20, "plain");
  MustNotStart(PMIX_ERR_JOB_INSUFFICIENT_RESOURCES, &app, &full);
  Describe(&app, 1, 1, "plain");
  Directives nonsense = {.count = 0};
  AddText(&nonsense, PMIX_MAPBY, "nonsense");
  MustNotStart(PMIX_ERR_BAD_PARAM, &app, &nonsense);
  Directives unknown = Flag("canopy.test.unknown");
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  MustNotStart(PMIX_ERR_NOT_SUPPORTED, &app, &unknown);
}

static void Blocking(void) {
  App app;
  Describe(&app, 2, 2, "plain");
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(NULL, 0, &app.app, 1, nspace));
  CHECK(strcmp(nspace, g_self.nspace) != 0, "spawned itself");
  SizeIs(nspace, 2);
  // The name may be omitted, and an unknown directive may be ignored.
  const Directives unknown = Flag("canopy.test.unknown");
  OK(PMIx_Spawn(unknown.info, 1, &app.app, 1, NULL));
}

static void SeveralApplications(void) {
  App apps[2];
  pmix_app_t both[2];
  static const char *const kColours[2] = {"green", "blue"};
  static const char *const kPlaces[2] = {"/", "/usr"};
  char variables[2][64];
  for (int i = 0; i < 2; ++i) {
    Describe(&apps[i], i + 1, 3, "described");
    apps[i].argv[kModeWord + 1] = (char *)kColours[i];
    apps[i].argv[kModeWord + 2] = (char *)kPlaces[i];
    snprintf(variables[i], sizeof(variables[i]), "CONFORMANCE_COLOUR=%s",
             kColours[i]);
    apps[i].env[0] = variables[i];
    apps[i].app.env = apps[i].env;
    apps[i].app.cwd = (char *)kPlaces[i];
    both[i] = apps[i].app;
  }
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(NULL, 0, both, 2, nspace));
  SizeIs(nspace, 3);
  pmix_proc_t last;
  PMIX_PROC_LOAD(&last, nspace, 2);
  CHECK(MustGetNumber(&last, PMIX_APPNUM, NULL, PMIX_UINT32) == 1,
        "rank 2 is in the first application");
}

static void ParentAndChildMeet(void) {
  PutU32(PMIX_GLOBAL, "of the parent", 400);
  OK(PMIx_Commit());
  App app;
  Describe(&app, 2, 2, "meets");
  Signal done = SIGNAL_INIT;
  OK(PMIx_Spawn_nb(NULL, 0, &app.app, 1, OnSpawned, &done));
  OK(WaitFor(&done, 1));
  pmix_proc_t set[2];
  PMIX_PROC_LOAD(&set[0], g_child, PMIX_RANK_WILDCARD);
  set[1] = g_self;
  OK(PMIx_Fence(set, 2, NULL, 0));
  pmix_proc_t child = set[0];
  for (child.rank = 0; child.rank < 2; ++child.rank) {
    CHECK(MustGetNumber(&child, "of the child", NULL, PMIX_UINT32) ==
              500 + child.rank,
          "of rank %u", child.rank);
  }
  OK(PMIx_Fence(set, 2, NULL, 0));
}

enum { kMaxEnds = 4096 };

// Raised for each entry of g_ends. Events report the ends of all jobs of the
// session.
static Signal g_ended = SIGNAL_INIT;
static struct {
  pmix_nspace_t nspace;
  pmix_status_t status;
} g_ends[kMaxEnds];

static const pmix_info_t *FindIn(const pmix_info_t *infos, size_t count,
                                 const char *key) {
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], key)) return &infos[i];
  }
  CHECK(false, "an end without %s", key);
  return NULL;
}

static void OnEnd(size_t id, pmix_status_t status, const pmix_proc_t *source,
                  pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                  size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                  void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  CHECK(status == PMIX_EVENT_JOB_END, "event %d", status);
  const int end = CountOf(&g_ended);
  CHECK(end < kMaxEnds, "more ends than there is room for");
  PMIX_LOAD_NSPACE(g_ends[end].nspace,
                   FindIn(info, ninfo, PMIX_NSPACE)->value.data.string);
  const pmix_value_t *when = &FindIn(info, ninfo, PMIX_EVENT_TIMESTAMP)->value;
  CHECK(when->type == PMIX_TIME && when->data.time > 0, "at no time");
  const pmix_value_t *how = &FindIn(info, ninfo, PMIX_JOB_TERM_STATUS)->value;
  CHECK(how->type == PMIX_STATUS, "a status of type %s",
        PMIx_Data_type_string(how->type));
  g_ends[end].status = how->data.status;
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
  Raise(&g_ended, PMIX_SUCCESS);
}

static pmix_status_t AwaitEnd(const char *nspace) {
  for (int end = 0;; ++end) {
    OK(WaitFor(&g_ended, end + 1));
    if (PMIX_CHECK_NSPACE(g_ends[end].nspace, nspace))
      return g_ends[end].status;
  }
}

// Spawns the job, whose processes must all end with 0. `more` may be empty.
static void EndsWell(const App *app, const Directives *more) {
  pmix_status_t code = PMIX_EVENT_JOB_END;
  const pmix_status_t handler =
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnEnd, NULL, NULL);
  CHECK(handler >= 0, "%s", PMIx_Error_string(handler));
  Directives notify = Flag(PMIX_NOTIFY_COMPLETION);
  for (size_t i = 0; i < more->count; ++i) {
    notify.info[notify.count++] = more->info[i];
  }
  for (size_t i = 0; i < notify.count; ++i) PMIX_INFO_REQUIRED(&notify.info[i]);
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(notify.info, notify.count, &app->app, 1, nspace));
  OK(AwaitEnd(nspace));
  OK(PMIx_Deregister_event_handler((size_t)handler, NULL, NULL));
}

static void RunsToItsEnd(const App *app) {
  const Directives none = {.count = 0};
  EndsWell(app, &none);
}

static void AddEnvar(Directives *list, const char *key, const char *name,
                     const char *value) {
  pmix_info_t *info = NextInfo(list, key);
  info->value.type = PMIX_ENVAR;
  info->value.data.envar.envar = (char *)name;
  info->value.data.envar.value = (char *)value;
  info->value.data.envar.separator = ':';
}

static void VariablesAreEdited(void) {
  char list[] = "CONFORMANCE_LIST=env";
  char gone[] = "CONFORMANCE_GONE=env";
  char added[] = "CONFORMANCE_ADDED=env";
  char *env[] = {list, gone, added, NULL};
  App app;
  Describe(&app, 1, 1, "edited");
  Directives own = {.count = 0};
  AddEnvar(&own, PMIX_PREPEND_ENVAR, "CONFORMANCE_LIST", "app");
  app.app.env = env;
  app.app.info = own.info;
  app.app.ninfo = own.count;
  Directives job = {.count = 0};
  AddEnvar(&job, PMIX_APPEND_ENVAR, "CONFORMANCE_LIST", "job");
  AddText(&job, PMIX_UNSET_ENVAR, "CONFORMANCE_GONE");
  AddEnvar(&job, PMIX_ADD_ENVAR, "CONFORMANCE_ADDED", "job");
  EndsWell(&app, &job);
}

static void PoliciesCanBeRead(void) {
  App app;
  Describe(&app, 1, 1, "policies");
  Directives job = {.count = 0};
  AddU32(&job, PMIX_CPUS_PER_PROC, 1);
  AddU32(&job, PMIX_MAX_RESTARTS, 3);
  AddText(&job, PMIX_CPU_LIST, "0");
  EndsWell(&app, &job);
}

// PROC-12: the process that spawned a job is notified of its end, with the time
// and the status.
static void EndIsTold(void) {
  App app;
  Describe(&app, 1, 1, "plain");
  RunsToItsEnd(&app);
}

// PROC-09: argv may repeat the command, may hold only the arguments, and may be
// the only place that names the program. The child fails unless it receives all
// of its words.
static void CommandLines(void) {
  App app;
  Describe(&app, 1, 1, "plain");
  app.app.argv = app.argv + 1;
  RunsToItsEnd(&app);
  Describe(&app, 1, 1, "plain");
  char *name = strrchr(g_path, '/') + 1;
  app.argv[0] = name;
  RunsToItsEnd(&app);
  Describe(&app, 1, 1, "plain");
  app.app.cmd = NULL;
  RunsToItsEnd(&app);
}

// PROC-09: a program that PATH does not have is found in the working directory,
// which is the caller's current directory if the application names none.
static void ProgramsOfTheDirectory(void) {
  char place[] = "/tmp/conformance-XXXXXX", link[64], before[4096];
  CHECK(mkdtemp(place) != NULL && getcwd(before, sizeof before) != NULL, "%s",
        strerror(errno));
  snprintf(link, sizeof link, "%s/conformance-here", place);
  CHECK(symlink(g_path, link) == 0, "%s", strerror(errno));
  App app;
  Describe(&app, 1, 1, "plain");
  app.app.cmd = app.argv[0] = (char *)"conformance-here";
  const Directives none = {.count = 0};
  app.app.cwd = (char *)"/";
  MustNotStart(PMIX_ERR_JOB_EXE_NOT_FOUND, &app, &none);
  app.app.cwd = place;
  RunsToItsEnd(&app);
  app.app.cwd = NULL;
  CHECK(chdir(place) == 0, "%s", strerror(errno));
  RunsToItsEnd(&app);
  CHECK(chdir(before) == 0 && unlink(link) == 0 && rmdir(place) == 0, "%s",
        strerror(errno));
}

// Every rank spawns at the same time.
static void AllAtOnce(void) {
  App app;
  Describe(&app, 1, 1, "plain");
  Signal done = SIGNAL_INIT;
  OK(PMIx_Spawn_nb(NULL, 0, &app.app, 1, OnSpawned, &done));
  OK(WaitFor(&done, 1));
  SizeIs(g_child, 1);
}

int main(int argc, char **argv) {
  if (argc > kModeWord && strcmp(argv[3], "child") == 0) {
    return Child(argc, argv);
  }
  CHECK(realpath(argv[0], g_path) != NULL, "%s: %s", argv[0], strerror(errno));
  Start(argc, argv);
  if (g_self.rank == g_size - 1) {
    WrongArguments();
    Failures();
    Blocking();
    SeveralApplications();
    ParentAndChildMeet();
    EndIsTold();
    CommandLines();
    ProgramsOfTheDirectory();
    VariablesAreEdited();
    PoliciesCanBeRead();
  }
  Barrier();
  AllAtOnce();
  Barrier();
  return Finish();
}
