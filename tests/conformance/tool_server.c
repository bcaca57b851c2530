// A tool that is also a server: PMIx_tool_set_server_module. It starts a
// process of a job of its own, which is its client. Usage: tool_server 1 1
// [DIRECTORY]; with DIRECTORY it has a server itself, which it finds there.
// "child" in place of DIRECTORY is the process that it starts.
#include <pmix_server.h>
#include <pmix_tool.h>
#include <sys/wait.h>

#include "check.h"

// This function is newer than some headers.
pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t *);

extern char **environ;

enum { kCode = -3001 };

static const pmix_nspace_t kJob = "job.of.the.tool";
static Signal g_connected = SIGNAL_INIT;
static Signal g_finalized = SIGNAL_INIT;
static Signal g_told = SIGNAL_INIT;

// ------------------------------------------------------------ the module ---

static pmix_status_t OnConnected(const pmix_proc_t *proc, void *object,
                                 pmix_op_cbfunc_t done, void *cbdata) {
  (void)done, (void)cbdata;
  CHECK(strcmp(proc->nspace, kJob) == 0 && object == &g_connected, "%s:%u",
        proc->nspace, proc->rank);
  Raise(&g_connected, PMIX_SUCCESS);
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t OnFinalized(const pmix_proc_t *proc, void *object,
                                 pmix_op_cbfunc_t done, void *cbdata) {
  (void)proc, (void)object;
  Raise(&g_finalized, PMIX_SUCCESS);
  done(PMIX_SUCCESS, cbdata);
  return PMIX_SUCCESS;
}

static pmix_server_module_t g_module = {.client_connected = OnConnected,
                                        .client_finalized = OnFinalized};

// --------------------------------------------------------------- the job ---

static void Done(pmix_status_t status) {
  CHECK(status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED, "%s",
        PMIx_Error_string(status));
}

static void RegisterJob(pmix_proc_t *proc) {
  char host[256];
  char *nodes = NULL;
  char *ranks = NULL;
  gethostname(host, sizeof(host));
  OK(PMIx_generate_regex(host, &nodes));
  OK(PMIx_generate_ppn("0", &ranks));
  Directives job = {.count = 0};
  AddU32(&job, PMIX_UNIV_SIZE, 1);
  AddU32(&job, PMIX_JOB_SIZE, 1);
  AddText(&job, PMIX_NODE_MAP, nodes);
  AddText(&job, PMIX_PROC_MAP, ranks);
  Done(PMIx_server_register_nspace(kJob, 1, job.info, job.count, NULL, NULL));
  free(nodes);
  free(ranks);
  PMIX_PROC_LOAD(proc, kJob, 0);
  Done(PMIx_server_register_client(proc, geteuid(), getegid(), &g_connected,
                                   NULL, NULL));
}

static pid_t StartChild(char *program, const pmix_proc_t *proc) {
  char *argv[] = {program, "1", "1", "child", NULL};
  char **env = NULL;
  PMIX_ARGV_COPY(env, environ);
  OK(PMIx_server_setup_fork(proc, &env));
  const pid_t pid = fork();
  if (pid == 0) {
    execve("/proc/self/exe", argv, env);
    _exit(127);
  }
  PMIX_ARGV_FREE(env);
  return pid;
}

static void Serve(char *program) {
  char *uri = MustGetText(&g_self, PMIX_MYSERVER_URI, NULL);
  CHECK(strncmp(uri, g_self.nspace, strlen(g_self.nspace)) == 0, "%s", uri);
  free(uri);
  pmix_proc_t proc;
  RegisterJob(&proc);
  const pid_t pid = StartChild(program, &proc);
  OK(WaitFor(&g_connected, 1));
  // Only the job's process, which waits for the event, receives it.
  Directives list = Flag(PMIX_EVENT_NON_DEFAULT);
  pmix_info_t *range = NextInfo(&list, PMIX_EVENT_CUSTOM_RANGE);
  range->value.type = PMIX_PROC;
  range->value.data.proc = &proc;
  OK(PMIx_Notify_event(kCode, &g_self, PMIX_RANGE_CUSTOM, list.info, list.count,
                       NULL, NULL));
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid, "lost the process");
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ended with %d",
        status);
  OK(WaitFor(&g_finalized, 1));
}

// ------------------------------------------------------------- the child ---

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)source, (void)info, (void)ninfo, (void)results,
      (void)nresults;
  Raise(&g_told, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static int Child(void) {
  OK(PMIx_Init(&g_self, NULL, 0));
  CHECK(strcmp(g_self.nspace, kJob) == 0 && g_self.rank == 0, "I am %s:%u",
        g_self.nspace, g_self.rank);
  const pmix_proc_t job = ProcOf(PMIX_RANK_WILDCARD);
  CHECK(MustGetNumber(&job, PMIX_JOB_SIZE, NULL, PMIX_UINT32) == 1, "size");
  pmix_status_t code = kCode;
  const pmix_status_t got =
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnEvent, NULL, NULL);
  CHECK(got >= 0, "registration gave %d", got);
  EXPECT(kCode, WaitFor(&g_told, 1));
  OK(PMIx_Finalize(NULL, 0));
  return 0;
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  if (argc > 3 && strcmp(argv[3], "child") == 0) return Child();
  EXPECT(PMIX_ERR_INIT, PMIx_tool_set_server_module(&g_module));
  Directives list = {.count = 0};
  if (argc > 3) {
    AddText(&list, PMIX_SERVER_TMPDIR, argv[3]);
  } else {
    AddFlag(&list, PMIX_TOOL_DO_NOT_CONNECT, true);
  }
  OK(PMIx_tool_init(&g_self, list.info, list.count));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_tool_set_server_module(NULL));
  OK(PMIx_tool_set_server_module(&g_module));
  EXPECT(PMIX_ERR_EXISTS, PMIx_tool_set_server_module(&g_module));
  EXPECT(PMIX_ERR_EXISTS, PMIx_server_init(&g_module, NULL, 0));
  EXPECT(PMIX_ERR_INIT, PMIx_server_finalize());
  Serve(argv[0]);
  OK(PMIx_tool_finalize());
  char **env = NULL;
  EXPECT(PMIX_ERR_INIT, PMIx_server_setup_fork(&g_self, &env));
  g_self.rank = 0;
  return Kept();
}
