// A tool without a server starts a launcher, which becomes its server.
// "launcher 1 1 CANOPY" uses the launcher. "launcher 1 1 CANOPY orphan" ends
// without a message while the launcher's job runs, after it has printed the
// job's namespace.
#include <pmix_tool.h>
#include <time.h>

#include "check.h"
#include "job_end.h"

static pmix_proc_t g_server;
static pmix_nspace_t g_job_name;

static pmix_status_t Spawn(char *program, const char *directory,
                           Directives list) {
  char *argv[] = {program,           "run",   "-n",  "2",
                  "--oversubscribe", "sleep", "600", NULL};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = program;
  app.argv = argv;
  app.cwd = (char *)directory;
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  memset(nspace, 'x', sizeof(nspace));
  const pmix_status_t status =
      PMIx_Spawn(list.info, list.count, &app, 1, nspace);
  CHECK(memchr(nspace, '\0', sizeof(nspace)) != NULL, "no namespace");
  PMIX_PROC_LOAD(&g_server, nspace, 0);
  return status;
}

static void Refused(char *program) {
  Directives none = {.count = 0};
  EXPECT(PMIX_ERR_JOB_EXE_NOT_FOUND, Spawn("/no/such/launcher", NULL, none));
  EXPECT(PMIX_ERR_JOB_WDIR_NOT_FOUND, Spawn(program, "/no/such/place", none));
  EXPECT(PMIX_ERR_JOB_FAILED_TO_LAUNCH, Spawn("/bin/true", NULL, none));
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         Spawn(program, NULL, Flag(PMIX_LAUNCHER_DAEMON)));
  // The launcher writes to this tool's own streams, so no output is forwarded.
  Directives forwarded = Flag(PMIX_FWD_STDOUT);
  PMIX_INFO_REQUIRED(&forwarded.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED, Spawn(program, NULL, forwarded));
  EXPECT(PMIX_ERR_JOB_EXE_NOT_FOUND,
         Spawn("/no/such/launcher", NULL, Flag(PMIX_FWD_STDOUT)));
  Directives agent = {.count = 0};
  AddText(&agent, PMIX_FORKEXEC_AGENT, "/no/such/agent");
  EXPECT(PMIX_ERR_JOB_EXE_NOT_FOUND, Spawn(program, NULL, agent));
  // This tool was not launched, so it has no directives.
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, PMIX_LAUNCH_DIRECTIVES, NULL);
  CHECK(g_server.nspace[0] == '\0', "a server, %s", g_server.nspace);
}

static void TakeName(const pmix_value_t *value) {
  if (value->data.string == NULL || value->data.string[0] == '\0') return;
  PMIX_LOAD_NSPACE(g_job_name, value->data.string);
}

static bool g_runs;

// Sets g_runs if both processes of the job have started, that is, have a
// process id.
static void TakeProcesses(const pmix_value_t *value) {
  const pmix_data_array_t *table = value->data.darray;
  const pmix_proc_info_t *procs = table->array;
  g_runs = table->size == 2 && procs[0].pid > 0 && procs[1].pid > 0;
}

// Queries a key once. `take` receives the result, if there is one.
static void Ask(char *key, Directives with,
                void (*take)(const pmix_value_t *)) {
  char *keys[] = {key, NULL};
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  query.qualifiers = with.info;
  query.nqual = with.count;
  const pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count);
  if (status == PMIX_SUCCESS && count == 1) take(&results[0].value);
  if (results != NULL) PMIX_INFO_FREE(results, count);
}

// Finds the launcher's job, once its processes exist.
static void FindJob(void) {
  const struct timespec pause = {0, 20 * 1000 * 1000};
  for (int i = 0; i < 2000 && !g_runs; ++i) {
    Directives with = Flag(PMIX_QUERY_REFRESH_CACHE);
    if (g_job_name[0] == '\0') {
      Ask(PMIX_QUERY_NAMESPACES, with, TakeName);
    } else {
      AddText(&with, PMIX_NSPACE, g_job_name);
      Ask(PMIX_QUERY_PROC_TABLE, with, TakeProcesses);
    }
    nanosleep(&pause, NULL);
  }
  CHECK(g_runs, "the launcher has no job that runs");
}

static void Launched(char *program) {
  Directives list = Flag(PMIX_SPAWN_TOOL);
  AddInt(&list, PMIX_TIMEOUT, 60);
  AddFlag(&list, PMIX_NOHUP, false);
  // The program "env" executes the words that follow it.
  AddText(&list, PMIX_EXEC_AGENT, "env");
  OK(Spawn(program, NULL, list));
  Directives wait = Flag(PMIX_WAIT_FOR_CONNECTION);
  AddInt(&wait, PMIX_TIMEOUT, 60);
  OK(PMIx_tool_set_server(&g_server, wait.info, wait.count));
  FindJob();
}

static void EndJob(void) {
  WatchEnd(g_job_name);
  KillWatched();
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  CHECK(argc > 3, "no launcher");
  Directives alone = Flag(PMIX_TOOL_DO_NOT_CONNECT);
  OK(PMIx_tool_init(&g_self, alone.info, alone.count));
  if (argc == 4) Refused(argv[3]);
  Launched(argv[3]);
  if (argc > 4) {
    printf("orphan %s\n", g_job_name);
    fflush(stdout);
    _exit(0);
  }
  EndJob();
  OK(PMIx_tool_finalize());
  g_self.rank = 0;
  return Kept();
}
