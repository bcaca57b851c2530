// A tool: a process that was not launched, beside a job on the agents that it
// finds. Usage: tools 1 1 DIRECTORY NAMESPACE, with the directory of the
// agent's rendezvous files, and the job, whose processes wait until they are
// ended. A fifth word selects another program:
//   twin     claims a name that another tool has
//   spawner  spawns a job, and ends
//   nohup    does the same, and the job continues
//   reader   looks up the data that another tool publishes
#include <dirent.h>
#include <errno.h>
#include <pmix_tool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "job_end.h"
#include "models.h"

#ifndef PMIX_TOOL_CONNECT_OPTIONAL
#define PMIX_TOOL_CONNECT_OPTIONAL "pmix.tool.conopt"
#endif
// This function is newer than some headers.
bool PMIx_tool_is_connected(void);

static const char *g_directory;
static const char *g_nspace;
static char g_file[PATH_MAX];  // a rendezvous file of the agent
static char g_uri[512];        // first line of the file
static int g_pid;              // third line of the file
static pmix_proc_t g_server;
static char g_place[] = "/tmp/canopy-tools-XXXXXX";

static const char *InPlace(const char *name) {
  static char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/%s", g_place, name);
  return path;
}

static Directives At(const char *directory) {
  Directives list = {.count = 0};
  AddText(&list, PMIX_SERVER_TMPDIR, directory);
  return list;
}

static Directives Text(const char *key, const char *text) {
  Directives list = At(g_directory);
  AddText(&list, key, text);
  return list;
}

static pmix_status_t Init(Directives list) {
  return PMIx_tool_init(&g_self, list.info, list.count);
}

static void MustConnect(Directives list) {
  pmix_proc_t *servers = NULL;
  size_t count = 0;
  OK(Init(list));
  CHECK(PMIx_tool_is_connected(), "no server");
  OK(PMIx_tool_get_servers(&servers, &count));
  CHECK(count == 1, "%zu servers", count);
  CHECK(g_server.nspace[0] == 0 ||
            strcmp(servers[0].nspace, g_server.nspace) == 0,
        "another server, %s", servers[0].nspace);
  g_server = servers[0];
  PMIX_PROC_FREE(servers, count);
  OK(PMIx_tool_finalize());
}

static void MustBeRefused(pmix_status_t want, Directives list) {
  EXPECT(want, Init(list));
  CHECK(!PMIx_tool_is_connected(), "a server");
}

// ------------------------------------------------------- without a server ---

static void Unconnected(Directives list, const char *nspace, unsigned rank) {
  pmix_proc_t *servers = NULL;
  size_t count = 0;
  OK(Init(list));
  CHECK(!PMIx_tool_is_connected(), "a server");
  EXPECT(PMIX_ERR_UNREACH, PMIx_tool_get_servers(&servers, &count));
  CHECK(servers == NULL && count == 0, "%zu servers", count);
  CHECK(nspace == NULL ? g_self.nspace[0] != 0
                       : strcmp(g_self.nspace, nspace) == 0,
        "named %s", g_self.nspace);
  CHECK(g_self.rank == rank, "rank %u", g_self.rank);
  OK(PMIx_tool_finalize());
}

static void WithoutServer(void) {
  pmix_proc_t *servers = NULL;
  size_t count = 0;
  EXPECT(PMIX_ERR_INIT, PMIx_tool_finalize());
  EXPECT(PMIX_ERR_INIT, PMIx_tool_get_servers(&servers, &count));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_tool_get_servers(NULL, &count));
  CHECK(!PMIx_tool_is_connected(), "a server before there is a tool");
  Unconnected(Flag(PMIX_TOOL_DO_NOT_CONNECT), NULL, 0);
  Directives named = Flag(PMIX_TOOL_DO_NOT_CONNECT);
  AddText(&named, PMIX_TOOL_NSPACE, "my.tool");
  Unconnected(named, "my.tool", 0);
  AddU32(&named, PMIX_TOOL_RANK, 7);
  Unconnected(named, "my.tool", 7);
  MustBeRefused(PMIX_ERR_UNREACH, At(g_place));
  Directives optional = At(g_place);
  AddFlag(&optional, PMIX_TOOL_CONNECT_OPTIONAL, true);
  Unconnected(optional, NULL, 0);
}

static void TriesAgain(void) {
  struct timespec start;
  struct timespec end;
  Directives list = At(g_place);
  AddU32(&list, PMIX_CONNECT_MAX_RETRIES, 1);
  AddU32(&list, PMIX_CONNECT_RETRY_DELAY, 2);
  clock_gettime(CLOCK_MONOTONIC, &start);
  MustBeRefused(PMIX_ERR_UNREACH, list);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = (double)(end.tv_sec - start.tv_sec) +
                         1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  CHECK(seconds >= 2, "gave up after %.3f s", seconds);
}

// --------------------------------------------------------- which server ---

static void FindFile(void) {
  char host[256];
  char prefix[300];
  gethostname(host, sizeof(host));
  snprintf(prefix, sizeof(prefix), "pmix.%s.tool.", host);
  DIR *directory = opendir(g_directory);
  CHECK(directory != NULL, "no directory %s", g_directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
      snprintf(g_file, sizeof(g_file), "%s/%s", g_directory, entry->d_name);
    }
  }
  closedir(directory);
  FILE *file = fopen(g_file, "r");
  CHECK(file != NULL, "no rendezvous file in %s", g_directory);
  CHECK(fscanf(file, "%511[^\n]\n%*s\n%d", g_uri, &g_pid) == 2, "malformed");
  fclose(file);
}

static Directives Pid(int pid) {
  Directives list = At(g_directory);
  pmix_info_t *info = NextInfo(&list, PMIX_SERVER_PIDINFO);
  info->value.type = PMIX_PID;
  info->value.data.pid = pid;
  return list;
}

static Directives System(const char *key, const char *directory) {
  Directives list = At(g_directory);
  AddFlag(&list, key, true);
  AddText(&list, PMIX_SYSTEM_TMPDIR, directory);
  return list;
}

static void NoteLate(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                     void *late, pmix_release_cbfunc_t release, void *object) {
  (void)status, (void)info, (void)ninfo;
  if (release != NULL) release(object);
  *(volatile bool *)late = true;
}

// Callbacks wait for the tool's own calls of PMIx_Progress.
static void OnlyInProgress(Directives external) {
  OK(Init(external));
  char *keys[] = {PMIX_QUERY_NAMESPACES, NULL};
  pmix_query_t query = {.keys = keys};
  volatile bool late = false;
  OK(PMIx_Query_info_nb(&query, 1, NoteLate, (void *)&late));
  usleep(200000);
  CHECK(!late, "called back without a call of PMIx_Progress");
  while (!late) PMIx_Progress();
  OK(PMIx_tool_finalize());
}

static void Choices(void) {
  char uri[PATH_MAX + 8];
  Directives launcher = At(g_directory);
  AddFlag(&launcher, PMIX_LAUNCHER, true);
  MustConnect(launcher);
  MustConnect(Text(PMIX_SERVER_URI, g_uri));
  snprintf(uri, sizeof(uri), "file:%s", g_file);
  MustConnect(Text(PMIX_SERVER_URI, uri));
  MustConnect(Text(PMIX_TOOL_ATTACHMENT_FILE, g_file));
  MustConnect(Text(PMIX_SERVER_NSPACE, g_server.nspace));
  MustConnect(Pid(g_pid));
}

// The tool has the address of its server, as in the file, but no address of its
// own.
static void Addresses(void) {
  Directives list = At(g_directory);
  OK(PMIx_tool_init(&g_self, list.info, list.count));
  char *uri = MustGetText(&g_self, PMIX_SERVER_URI, NULL);
  CHECK(strcmp(uri, g_uri) == 0, "%s, not %s", uri, g_uri);
  free(uri);
  const Directives optional = Flag(PMIX_OPTIONAL);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, PMIX_SERVER_URI, &optional);
  MustFail(PMIX_ERR_NOT_FOUND, &g_self, PMIX_MYSERVER_URI, NULL);
  OK(PMIx_tool_finalize());
}

// An agent that is not the machine's system server does not claim that role.
static void SystemServer(void) {
  char host[256];
  char name[300];
  gethostname(host, sizeof(host));
  snprintf(name, sizeof(name), "pmix.sys.%s", host);
  MustBeRefused(PMIX_ERR_UNREACH, System(PMIX_CONNECT_TO_SYSTEM, g_directory));
  MustConnect(System(PMIX_CONNECT_SYSTEM_FIRST, g_directory));
  CHECK(symlink(g_file, InPlace(name)) == 0, "symlink");
  MustConnect(System(PMIX_CONNECT_TO_SYSTEM, g_place));
  MustConnect(System(PMIX_CONNECT_SYSTEM_FIRST, g_place));
  // The directory of the search has no server, so that only the system server
  // is found.
  Directives first = At(g_place);
  AddText(&first, PMIX_SYSTEM_TMPDIR, g_place);
  MustBeRefused(PMIX_ERR_UNREACH, first);
  AddFlag(&first, PMIX_CONNECT_SYSTEM_FIRST, true);
  MustConnect(first);
  unlink(InPlace(name));
}

// If an explicit choice of a server fails, the tool connects to no other
// server.
static void WrongChoices(void) {
  MustBeRefused(PMIX_ERR_UNREACH, Pid(1));
  MustBeRefused(PMIX_ERR_UNREACH, Text(PMIX_SERVER_NSPACE, "nobody"));
  MustBeRefused(PMIX_ERR_UNREACH,
                Text(PMIX_SERVER_URI, "nobody.0;tcp4://127.0.0.1:1"));
  MustBeRefused(PMIX_ERR_UNREACH, System(PMIX_CONNECT_TO_SYSTEM, g_place));
  MustBeRefused(PMIX_ERR_BAD_PARAM, Pid(-1));
  MustBeRefused(PMIX_ERR_BAD_PARAM, Text(PMIX_SERVER_NSPACE, ""));
  // libpmix connects to agents and relays of its own machine only.
  MustBeRefused(PMIX_ERR_NOT_SUPPORTED,
                Text(PMIX_TCP_URI, "nobody.0;tcp4://127.0.0.1:1"));
  Directives tcp = Text(PMIX_TCP_URI, g_uri);
  MustConnect(tcp);
  AddText(&tcp, PMIX_SERVER_URI, g_uri);
  MustBeRefused(PMIX_ERR_BAD_PARAM, tcp);
  MustBeRefused(PMIX_ERR_NOT_SUPPORTED,
                Text(PMIX_SERVER_HOSTNAME, "another.machine"));
  MustConnect(Text(PMIX_SERVER_HOSTNAME, "localhost"));
  // Other processes cannot find a tool as their server.
  MustBeRefused(PMIX_ERR_NOT_SUPPORTED,
                Text(PMIX_LAUNCHER_RENDEZVOUS_FILE, InPlace("launcher")));
  Directives unknown = Flag("no.such.directive");
  unknown.info[0].flags = PMIX_INFO_REQD;
  MustBeRefused(PMIX_ERR_NOT_SUPPORTED, unknown);
}

// Options for a transport of the tool itself, and for external progress, are
// ignored or replaced unless they are required.
static void Options(void) {
  static const char *const kOptions[] = {
      PMIX_SOCKET_MODE,      PMIX_TCP_REPORT_URI,   PMIX_TCP_IF_INCLUDE,
      PMIX_TCP_IF_EXCLUDE,   PMIX_TCP_IPV4_PORT,    PMIX_TCP_IPV6_PORT,
      PMIX_TCP_DISABLE_IPV4, PMIX_TCP_DISABLE_IPV6, PMIX_EVENT_BASE,
      PMIX_IOF_LOCAL_OUTPUT};
  for (size_t i = 0; i < sizeof(kOptions) / sizeof(*kOptions); ++i) {
    Directives option = At(g_directory);
    AddFlag(&option, kOptions[i], true);
    MustConnect(option);
    PMIX_INFO_REQUIRED(&option.info[1]);
    MustBeRefused(PMIX_ERR_NOT_SUPPORTED, option);
  }
  Directives external = At(g_directory);
  AddFlag(&external, PMIX_EXTERNAL_PROGRESS, true);
  AddFlag(&external, PMIX_LAUNCHER, true);
  PMIX_INFO_REQUIRED(&external.info[1]);
  // Both attributes may be required: external progress is supported, and a tool
  // that is a launcher needs no further functions of the library.
  PMIX_INFO_REQUIRED(&external.info[2]);
  MustConnect(external);
  OnlyInProgress(external);
}

static void Write(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL, "cannot write %s", path);
  fputs(text, file);
  fclose(file);
}

static void BadFiles(void) {
  const char *path = InPlace("file");
  MustBeRefused(PMIX_ERR_NOT_FOUND, Text(PMIX_TOOL_ATTACHMENT_FILE, path));
  Write(path, "what somebody else has written\n");
  MustBeRefused(PMIX_ERR_BAD_PARAM, Text(PMIX_TOOL_ATTACHMENT_FILE, path));
  Write(path, "");
  MustBeRefused(PMIX_ERR_BAD_PARAM, Text(PMIX_TOOL_ATTACHMENT_FILE, path));
  // The file names the server of another implementation, and then an agent that
  // is gone.
  Write(path, "prterun.0;tcp4://127.0.0.1:1\nv5.0.1\n1\n");
  MustBeRefused(PMIX_ERR_NOT_SUPPORTED, Text(PMIX_TOOL_ATTACHMENT_FILE, path));
  Write(path,
        "canopy.0;tcp4://127.0.0.1:1\nv4.2.2\n1\n0:0\nnow\n"
        "canopy:/nowhere/clients.sock\n");
  MustBeRefused(PMIX_ERR_UNREACH, Text(PMIX_TOOL_ATTACHMENT_FILE, path));
  if (geteuid() == 0) {
    CHECK(chown(path, 65534, 65534) == 0, "chown");
    MustBeRefused(PMIX_ERR_NO_PERMISSIONS,
                  Text(PMIX_TOOL_ATTACHMENT_FILE, path));
  }
  unlink(path);
  CHECK(mkfifo(path, 0600) == 0, "mkfifo");
  MustBeRefused(PMIX_ERR_BAD_PARAM, Text(PMIX_TOOL_ATTACHMENT_FILE, path));
  unlink(path);
  CHECK(symlink(g_file, path) == 0, "symlink");
  MustConnect(Text(PMIX_TOOL_ATTACHMENT_FILE, path));
  unlink(path);
}

// ------------------------------------------------------------------ names ---

// Runs another tool, which must end with that status.
static void Other(const char *program, const char *word, pmix_status_t want) {
  const pid_t pid = fork();
  if (pid == 0) {
    execl(program, program, "1", "1", g_directory, g_nspace, word, NULL);
    _exit(127);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid, "lost the %s", word);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == -want,
        "the %s ended with %d", word, WEXITSTATUS(status));
}

static void Twin(const char *program, pmix_status_t want) {
  Other(program, "twin", want);
}

static Directives Named(const char *nspace, uint32_t rank) {
  Directives list = Text(PMIX_TOOL_NSPACE, nspace);
  AddU32(&list, PMIX_TOOL_RANK, rank);
  return list;
}

static Signal g_model = SIGNAL_INIT;

static void OnModel(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  ReportsTestModel(info, ninfo);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
  Raise(&g_model, status);
}

// A tool may declare a programming model at its start, as a client does. A
// handler of the first model is notified of the second model.
static void Model(void) {
  pmix_status_t code = PMIX_MODEL_DECLARED;
  Directives model = TestModel();
  OK(Init(Named("my.tool", 3)));
  const pmix_status_t handler =
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnModel, NULL, NULL);
  CHECK(handler >= 0, "registration gave %d", handler);
  OK(PMIx_tool_init(NULL, model.info, model.count));
  EXPECT(PMIX_MODEL_DECLARED, WaitFor(&g_model, 1));
  OK(PMIx_tool_finalize());
  OK(PMIx_tool_finalize());
}

static void Names(const char *program) {
  MustBeRefused(PMIX_ERR_INVALID_CRED, Named(g_nspace, 0));
  OK(Init(Named("my.tool", 3)));
  CHECK(strcmp(g_self.nspace, "my.tool") == 0 && g_self.rank == 3, "I am %s:%u",
        g_self.nspace, g_self.rank);
  Twin(program, PMIX_ERR_EXISTS);
  // Calls of PMIx_tool_init and of PMIx_Init are counted together.
  pmix_proc_t again;
  OK(PMIx_tool_init(&again, NULL, 0));
  CHECK(strcmp(again.nspace, "my.tool") == 0, "I am %s", again.nspace);
  OK(PMIx_tool_finalize());
  CHECK(PMIx_tool_is_connected(), "no server any more");
  OK(PMIx_tool_finalize());
  EXPECT(PMIX_ERR_INIT, PMIx_tool_finalize());
  Twin(program, PMIX_SUCCESS);
}

// ----------------------------------------------------------------- service ---

static void QueryJobs(void) {
  char *keys[] = {PMIX_QUERY_NAMESPACES, NULL};
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  OK(PMIx_Query_info(&query, 1, &results, &count));
  CHECK(count == 1 && strstr(results[0].value.data.string, g_nspace) != NULL,
        "the job is not among %zu results", count);
  PMIX_INFO_FREE(results, count);
}

static void GetJobData(void) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, g_nspace, PMIX_RANK_WILDCARD);
  CHECK(MustGetNumber(&proc, PMIX_JOB_SIZE, NULL, PMIX_UINT32) == 2, "size");
  proc.rank = 1;
  free(MustGetText(&proc, PMIX_HOSTNAME, NULL));
  const Directives soon = Timeout(1);
  PMIX_PROC_LOAD(&proc, "nobody", 0);
  pmix_value_t *value = NULL;
  const pmix_status_t rc =
      PMIx_Get(&proc, PMIX_HOSTNAME, soon.info, soon.count, &value);
  CHECK(rc == PMIX_ERR_NOT_FOUND || rc == PMIX_ERR_TIMEOUT, "gave %d", rc);
}

// ------------------------------------------------------------- publishing ---

static char g_key[] = "a.tools.key";

static pmix_status_t LookUp(pmix_proc_t *publisher) {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  strncpy(data.key, g_key, PMIX_MAX_KEYLEN);
  const pmix_status_t status = PMIx_Lookup(&data, 1, NULL, 0);
  if (status == PMIX_SUCCESS) {
    CHECK(strcmp(data.value.data.string, "its value") == 0, "another value");
    *publisher = data.proc;
  }
  PMIX_PDATA_DESTRUCT(&data);
  return status;
}

static void Publish(void) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, g_key, "its value", PMIX_STRING);
  OK(PMIx_Publish(&info, 1));
  PMIX_INFO_DESTRUCT(&info);
}

// All processes see the data that a tool publishes, until the tool unpublishes
// it or ends.
static void Publishing(const char *program) {
  char *keys[] = {g_key, NULL};
  pmix_proc_t publisher;
  OK(Init(At(g_directory)));
  EXPECT(PMIX_ERR_NOT_FOUND, LookUp(&publisher));
  Publish();
  OK(LookUp(&publisher));
  CHECK(PMIX_CHECK_PROCID(&publisher, &g_self), "published by %s",
        publisher.nspace);
  Other(program, "reader", PMIX_SUCCESS);
  OK(PMIx_Unpublish(keys, NULL, 0));
  Other(program, "reader", PMIX_ERR_NOT_FOUND);
  Publish();
  OK(PMIx_tool_finalize());
  Other(program, "reader", PMIX_ERR_NOT_FOUND);
}

static int Reader(void) {
  pmix_proc_t publisher;
  OK(Init(At(g_directory)));
  const pmix_status_t status = LookUp(&publisher);
  OK(PMIx_tool_finalize());
  return -status;
}

// ---------------------------------------------------------------- spawns ---

static pmix_nspace_t g_child;
static bool g_nohup;  // the spawned job continues without the tool

static pmix_status_t Spawn(char **argv, bool output) {
  Directives with = Flag(PMIX_NOTIFY_COMPLETION);
  // Slots may be shared, because another job uses all of them.
  AddText(&with, PMIX_MAPBY, "slot:oversubscribe");
  if (output) {
    // The library formats the output that it pulls from the job.
    AddFlag(&with, PMIX_FWD_STDOUT, true);
    AddFlag(&with, PMIX_IOF_RANK_OUTPUT, true);
    AddU32(&with, PMIX_IOF_BUFFERING_SIZE, strlen("here\n"));
    for (size_t i = 1; i < with.count; ++i) PMIX_INFO_REQUIRED(&with.info[i]);
  }
  if (g_nohup) AddFlag(&with, PMIX_NOHUP, true);
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.cwd = "/";
  app.maxprocs = 2;
  return PMIx_Spawn(with.info, with.count, &app, 1, g_child);
}

// The line of each process in the format that the spawn requests.
static const char kLine[] = "[0]<stdout>: here\n";

static pthread_mutex_t g_output_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t g_output;
static Signal g_written = SIGNAL_INIT;
static Signal g_all_output = SIGNAL_INIT;

static void OnOutput(size_t handle, pmix_iof_channel_t channel,
                     pmix_proc_t *source, pmix_byte_object_t *bytes,
                     pmix_info_t info[], size_t ninfo) {
  (void)handle, (void)channel, (void)info;
  CHECK(bytes->size == 0 ||
            (bytes->size == strlen(kLine) &&
             memcmp(bytes->bytes + 2, kLine + 2, strlen(kLine) - 2) == 0),
        "it is '%.*s'", (int)bytes->size, bytes->bytes);
  pthread_mutex_lock(&g_output_lock);
  g_output += bytes->size;
  const bool all = bytes->size > 0 && g_output == 2 * strlen(kLine);
  pthread_mutex_unlock(&g_output_lock);
  if (all) Raise(&g_written, PMIX_SUCCESS);
  if (ninfo > 0 && source->rank == PMIX_RANK_WILDCARD) {
    Raise(&g_all_output, PMIX_SUCCESS);
  }
}

// A tool's program that PATH does not have is found in the tool's current
// directory.
static void SpawnsHere(void) {
  char before[PATH_MAX];
  CHECK(getcwd(before, sizeof before) != NULL, "%s", strerror(errno));
  CHECK(symlink("/bin/true", InPlace("conformance-here")) == 0, "%s",
        strerror(errno));
  Directives with = {.count = 0};
  AddText(&with, PMIX_MAPBY, "slot:oversubscribe");
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = "conformance-here";
  app.maxprocs = 1;
  EXPECT(PMIX_ERR_JOB_EXE_NOT_FOUND,
         PMIx_Spawn(with.info, with.count, &app, 1, NULL));
  CHECK(chdir(g_place) == 0, "%s", strerror(errno));
  OK(PMIx_Spawn(with.info, with.count, &app, 1, NULL));
  CHECK(chdir(before) == 0 && unlink(InPlace("conformance-here")) == 0, "%s",
        strerror(errno));
}

// A tool sees a job that it spawns like any other: its data, its output, its
// end, and the reason of a failed launch.
static void Spawns(void) {
  char *none[] = {"/no/such/program", NULL};
  EXPECT(PMIX_ERR_JOB_EXE_NOT_FOUND, Spawn(none, false));
  char *writes[] = {"/bin/sh", "-c", "echo here; exec sleep 600", NULL};
  OK(Spawn(writes, true));
  pmix_proc_t job;
  PMIX_PROC_LOAD(&job, g_child, PMIX_RANK_WILDCARD);
  CHECK(MustGetNumber(&job, PMIX_JOB_SIZE, NULL, PMIX_UINT32) == 2, "size");
  CHECK(PMIx_IOF_pull(&job, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, OnOutput, NULL,
                      NULL) > 0,
        "its output");
  WaitFor(&g_written, 1);
  g_ended = (Signal)SIGNAL_INIT;
  WatchEnd(g_child);
  KillWatched();
  WaitFor(&g_all_output, 1);
  CHECK(g_output == 2 * strlen(kLine), "%zu bytes", g_output);
}

// The caller of this program checks that the job ends with the tool.
static int Spawner(void) {
  char *sleeps[] = {"/bin/sleep", "600", NULL};
  OK(Init(At(g_directory)));
  OK(Spawn(sleeps, false));
  printf("spawned %s\n", g_child);
  fflush(stdout);
  OK(PMIx_tool_finalize());
  return 0;
}

static Signal g_alert = SIGNAL_INIT;

static void OnAlert(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)info, (void)ninfo, (void)results, (void)nresults;
  CHECK(PMIX_CHECK_PROCID(source, &g_self), "from %s", source->nspace);
  Raise(&g_alert, status);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

// Monitors the tool itself, which sends no heartbeats.
static void Monitored(void) {
  pmix_status_t code = PMIX_MONITOR_HEARTBEAT_ALERT;
  CHECK(
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnAlert, NULL, NULL) >= 0,
      "no handler");
  const Directives what = Flag(PMIX_MONITOR_HEARTBEAT);
  Directives often = {.count = 0};
  AddU32(&often, PMIX_MONITOR_HEARTBEAT_TIME, 1);
  AddText(&often, PMIX_MONITOR_ID, "beat");
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  OK(PMIx_Process_monitor(what.info, code, often.info, often.count, &results,
                          &nresults));
  EXPECT(code, WaitFor(&g_alert, 1));
  Directives end = {.count = 0};
  AddText(&end, PMIX_MONITOR_CANCEL, "beat");
  OK(PMIx_Process_monitor(end.info, PMIX_SUCCESS, NULL, 0, &results,
                          &nresults));
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Process_monitor(end.info, PMIX_SUCCESS, NULL,
                                                  0, &results, &nresults));
}

// A tool is notified of the end of a job that it ends.
static void EndJob(void) {
  WatchEnd(g_nspace);
  KillWatched();
}

static void Service(void) {
  OK(Init(At(g_directory)));
  QueryJobs();
  GetJobData();
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Fence(&g_self, 1, NULL, 0));
  Monitored();
  Spawns();
  SpawnsHere();
  g_ended = (Signal)SIGNAL_INIT;
  EndJob();
  OK(PMIx_tool_finalize());
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  CHECK(argc > 4, "no directory and no namespace");
  g_directory = argv[3];
  g_nspace = argv[4];
  if (argc > 5 && strcmp(argv[5], "reader") == 0) return Reader();
  g_nohup = argc > 5 && strcmp(argv[5], "nohup") == 0;
  if (g_nohup || (argc > 5 && strcmp(argv[5], "spawner") == 0)) {
    return Spawner();
  }
  if (argc > 5) return -Init(Named("my.tool", 3));
  CHECK(mkdtemp(g_place) != NULL, "no directory: %d", errno);
  FindFile();
  WithoutServer();
  TriesAgain();
  Choices();
  Addresses();
  SystemServer();
  WrongChoices();
  Options();
  BadFiles();
  Model();
  Names(argv[0]);
  Publishing(argv[0]);
  Service();
  rmdir(g_place);
  g_self.rank = 0;
  return Kept();
}
