// The address of a launcher, PMIX_MYSERVER_URI, by which processes that it
// starts connect back to it (chapter "Tools and Debuggers", "Indirect launch").
// "address 1 1" is the launcher, which starts guests: "guest URI" gets the
// address as an argument, and "back" finds it in its environment.
#include <pmix_server.h>
#include <pmix_tool.h>
#include <sys/wait.h>

#include "check.h"

// Some headers lack this function.
pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t *);

enum { kCode = -3001 };

static Signal g_told = SIGNAL_INIT;

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)source, (void)info, (void)ninfo, (void)results,
      (void)nresults;
  Raise(&g_told, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static Directives Unconnected(bool launcher) {
  Directives list = Flag(PMIX_TOOL_DO_NOT_CONNECT);
  if (launcher) AddFlag(&list, PMIX_LAUNCHER, true);
  return list;
}

static void Init(Directives list) {
  OK(PMIx_tool_init(&g_self, list.info, list.count));
}

static void NoLauncher(void) {
  Init(Unconnected(false));
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, PMIX_MYSERVER_URI, NULL);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, PMIX_SERVER_URI, NULL);
  OK(PMIx_tool_finalize());
}

// ------------------------------------------------------------------ guests ---

static void CheckServer(const char *uri) {
  pmix_proc_t *servers = NULL;
  size_t count = 0;
  OK(PMIx_tool_get_servers(&servers, &count));
  CHECK(count == 1, "%zu servers", count);
  CHECK(strncmp(uri, servers[0].nspace, strlen(servers[0].nspace)) == 0,
        "%s is the server of %s", servers[0].nspace, uri);
  char *found = MustGetText(&g_self, PMIX_SERVER_URI, NULL);
  CHECK(strcmp(found, uri) == 0, "%s", found);
  free(found);
  PMIX_PROC_FREE(servers, count);
}

static int Guest(const char *uri) {
  Directives list = {.count = 0};
  AddText(&list, PMIX_SERVER_URI, uri);
  Init(list);
  CheckServer(uri);
  const Directives last = Flag(PMIX_EVENT_NON_DEFAULT);
  OK(PMIx_Notify_event(kCode, &g_self, PMIX_RANGE_SESSION, last.info,
                       last.count, NULL, NULL));
  OK(PMIx_tool_finalize());
  return 0;
}

static int Back(void) {
  const char *variable = getenv("PMIX_LAUNCHER_RNDZ_URI");
  CHECK(variable != NULL, "no address");
  char *uri = strdup(variable);
  Init(Unconnected(false));
  CHECK(getenv("PMIX_LAUNCHER_RNDZ_URI") == NULL, "the variable is still set");
  CheckServer(uri);
  OK(PMIx_tool_finalize());
  free(uri);
  return 0;
}

// ---------------------------------------------------------------- launcher ---

static void StartGuest(char *word, char *uri) {
  char *argv[] = {word, "1", "1", word, uri, NULL};
  const pid_t pid = fork();
  if (pid == 0) {
    if (strcmp(word, "back") == 0) setenv("PMIX_LAUNCHER_RNDZ_URI", uri, 1);
    execv("/proc/self/exe", argv);
    _exit(127);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid, "waitpid failed");
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s ended with %d", word,
        status);
}

static void Serve(void) {
  Init(Unconnected(true));
  pmix_status_t code = kCode;
  const pmix_status_t got =
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnEvent, NULL, NULL);
  CHECK(got >= 0, "registration gave %d", got);
  char *uri = MustGetText(&g_self, PMIX_MYSERVER_URI, NULL);
  CHECK(strncmp(uri, g_self.nspace, strlen(g_self.nspace)) == 0, "%s", uri);
  // The address of another process is unknown.
  pmix_proc_t other = g_self;
  other.rank = g_self.rank + 1;
  MustFail(PMIX_ERR_NOT_FOUND, &other, PMIX_MYSERVER_URI, NULL);
  char *again = MustGetText(NULL, PMIX_MYSERVER_URI, NULL);
  CHECK(strcmp(uri, again) == 0, "%s, then %s", uri, again);
  free(again);
  StartGuest("guest", uri);
  EXPECT(kCode, WaitFor(&g_told, 1));
  StartGuest("back", uri);
  // The server that the tool gets with a module replaces the launcher's server.
  static pmix_server_module_t none;
  OK(PMIx_tool_set_server_module(&none));
  EXPECT(PMIX_ERR_EXISTS, PMIx_tool_set_server_module(&none));
  char *third = MustGetText(&g_self, PMIX_MYSERVER_URI, NULL);
  CHECK(strcmp(uri, third) != 0, "%s", third);
  free(third);
  free(uri);
  OK(PMIx_tool_finalize());
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  if (argc > 4 && strcmp(argv[3], "guest") == 0) return Guest(argv[4]);
  if (argc > 3 && strcmp(argv[3], "back") == 0) return Back();
  NoLauncher();
  Serve();
  g_self.rank = 0;
  return Kept();
}
