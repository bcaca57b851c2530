// A tool with several servers, which are agents of one overlay. Usage: servers
// 1 1 DIRECTORY NAMESPACE, with the directory that holds the directories of all
// its agents, and a job of two processes that wait until they are ended.
#include <glob.h>
#include <limits.h>
#include <pmix_tool.h>
#include <time.h>

#include "check.h"
#include "job_end.h"

// This function is newer than some headers.
bool PMIx_tool_is_connected(void);
pmix_status_t PMIx_tool_connect_to_server(pmix_proc_t *proc, pmix_info_t info[],
                                          size_t ninfo);

typedef struct {
  char file[PATH_MAX];
  char directory[PATH_MAX];
  char uri[512];
  int pid;
  pmix_proc_t name;
} Server;

enum { kMax = 8 };
static Server g_servers[kMax];
static size_t g_count;
static const char *g_nspace;

// ---------------------------------------------------------------- servers ---

static bool ReadServer(const char *path, Server *server) {
  FILE *file = fopen(path, "r");
  CHECK(file != NULL, "cannot read %s", path);
  const bool ok =
      fscanf(file, "%511[^\n]\n%*s\n%d", server->uri, &server->pid) == 2;
  fclose(file);
  CHECK(ok, "%s is malformed", path);
  for (size_t i = 0; i < g_count; ++i) {
    if (strcmp(g_servers[i].uri, server->uri) == 0) return false;
  }
  snprintf(server->file, sizeof(server->file), "%s", path);
  snprintf(server->directory, sizeof(server->directory), "%.*s",
           (int)(strrchr(path, '/') - path), path);
  // The address begins with NAMESPACE.RANK and a semicolon.
  char name[512];
  snprintf(name, sizeof(name), "%s", server->uri);
  *strchr(name, ';') = '\0';
  char *dot = strrchr(name, '.');
  *dot = '\0';
  PMIX_PROC_LOAD(&server->name, name, (pmix_rank_t)atoi(dot + 1));
  return true;
}

static void FindServers(const char *directory) {
  char host[256];
  char pattern[PATH_MAX];
  glob_t found;
  gethostname(host, sizeof(host));
  snprintf(pattern, sizeof(pattern), "%s/*/pmix.%s.tool.*", directory, host);
  CHECK(glob(pattern, 0, NULL, &found) == 0, "nothing like %s", pattern);
  for (size_t i = 0; i < found.gl_pathc && g_count < kMax; ++i) {
    if (ReadServer(found.gl_pathv[i], &g_servers[g_count])) ++g_count;
  }
  globfree(&found);
  CHECK(g_count >= 2, "%zu servers", g_count);
}

static Directives File(const Server *server) {
  Directives list = {.count = 0};
  AddText(&list, PMIX_TOOL_ATTACHMENT_FILE, server->file);
  return list;
}

static Directives At(const Server *server) {
  Directives list = {.count = 0};
  AddText(&list, PMIX_SERVER_TMPDIR, server->directory);
  return list;
}

static pmix_status_t Attach(Directives list, pmix_proc_t *server) {
  pmix_proc_t self;
  const pmix_status_t status =
      PMIx_tool_attach_to_server(&self, server, list.info, list.count);
  if (status == PMIX_SUCCESS) {
    CHECK(PMIX_CHECK_PROCID(&self, &g_self), "I became %s:%u", self.nspace,
          self.rank);
  }
  return status;
}

static void Attached(Directives list, const Server *want) {
  pmix_proc_t server;
  OK(Attach(list, &server));
  CHECK(PMIX_CHECK_PROCID(&server, &want->name), "to %s:%u", server.nspace,
        server.rank);
}

// The servers of this tool, in order, must be these.
static void Are(size_t count, const Server *first, const Server *second) {
  const Server *want[] = {first, second};
  pmix_proc_t *servers = NULL;
  size_t have = 0;
  OK(PMIx_tool_get_servers(&servers, &have));
  CHECK(have == count, "%zu servers, not %zu", have, count);
  for (size_t i = 0; i < count; ++i) {
    CHECK(PMIX_CHECK_PROCID(&servers[i], &want[i]->name), "%zu is %s:%u", i,
          servers[i].nspace, servers[i].rank);
  }
  PMIX_PROC_FREE(servers, have);
}

static void Drop(const Server *server) {
  OK(PMIx_tool_disconnect(&server->name));
}

static pmix_status_t Ask(void) {
  char *keys[] = {PMIX_QUERY_NAMESPACES, NULL};
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  // The result must not come from the library's cache.
  Directives refresh = Flag(PMIX_QUERY_REFRESH_CACHE);
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  query.qualifiers = refresh.info;
  query.nqual = refresh.count;
  const pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count);
  if (results != NULL) PMIX_INFO_FREE(results, count);
  return status;
}

// ------------------------------------------------------------------ rules ---

static void Outside(void) {
  EXPECT(PMIX_ERR_INIT, PMIx_tool_attach_to_server(NULL, NULL, NULL, 0));
  EXPECT(PMIX_ERR_INIT, PMIx_tool_set_server(&g_servers[0].name, NULL, 0));
  EXPECT(PMIX_ERR_INIT, PMIx_tool_disconnect(&g_servers[0].name));
  EXPECT(PMIX_ERR_INIT, PMIx_tool_connect_to_server(NULL, NULL, 0));
}

static void Attaching(void) {
  const Server *one = &g_servers[0];
  const Server *two = &g_servers[1];
  Attached(File(two), two);
  Are(2, one, two);
  // The server is already connected.
  Attached(File(two), two);
  OK(PMIx_tool_attach_to_server(NULL, NULL, File(two).info, 1));
  Are(2, one, two);
  EXPECT(PMIX_ERR_UNREACH, Attach(At(two), NULL));
  Directives primary = File(two);
  AddFlag(&primary, PMIX_PRIMARY_SERVER, true);
  Attached(primary, two);
  Are(2, two, one);
  OK(PMIx_tool_set_server(&one->name, NULL, 0));
  Drop(two);
  Are(1, one, NULL);
}

static void Choosing(Directives list, const char *what) {
  const Server *two = &g_servers[1];
  pmix_proc_t server;
  const pmix_status_t status = Attach(list, &server);
  CHECK(status == PMIX_SUCCESS, "%s gave %s", what, PMIx_Error_string(status));
  CHECK(PMIX_CHECK_PROCID(&server, &two->name), "%s led to %s:%u", what,
        server.nspace, server.rank);
  Drop(two);
}

// Tests each way to name a server, and each way that names no server.
static void Choices(void) {
  const Server *two = &g_servers[1];
  char uri[PATH_MAX + 8];
  Choosing(At(two), "search");
  Directives list = At(two);
  AddText(&list, PMIX_SERVER_URI, two->uri);
  Choosing(list, "uri");
  // A tool that connects to another server keeps its name. It retries the
  // connection as its directives determine.
  AddText(&list, PMIX_TOOL_NSPACE, g_self.nspace);
  AddU32(&list, PMIX_TOOL_RANK, g_self.rank);
  AddText(&list, PMIX_SERVER_HOSTNAME, "localhost");
  AddU32(&list, PMIX_CONNECT_MAX_RETRIES, 1);
  AddU32(&list, PMIX_CONNECT_RETRY_DELAY, 1);
  Choosing(list, "uri, as this tool");
  list = At(two);
  AddText(&list, PMIX_TCP_URI, two->uri);
  Choosing(list, "address");
  snprintf(uri, sizeof(uri), "file:%s", two->file);
  list = At(two);
  AddText(&list, PMIX_SERVER_URI, uri);
  Choosing(list, "file");
  list = At(two);
  AddText(&list, PMIX_SERVER_NSPACE, two->name.nspace);
  Choosing(list, "namespace");
  list = At(two);
  pmix_info_t *pid = NextInfo(&list, PMIX_SERVER_PIDINFO);
  pid->value.type = PMIX_PID;
  pid->value.data.pid = two->pid;
  Choosing(list, "pid");
  pid->value.data.pid = 1;
  EXPECT(PMIX_ERR_UNREACH, Attach(list, NULL));
  list = At(two);
  AddText(&list, PMIX_TCP_URI, "nobody.0;tcp4://127.0.0.1:1");
  EXPECT(PMIX_ERR_NOT_SUPPORTED, Attach(list, NULL));
  AddText(&list, PMIX_SERVER_URI, two->uri);
  EXPECT(PMIX_ERR_BAD_PARAM, Attach(list, NULL));
}

// Each directive excludes the server that would be found without it.
static void Excludes(void) {
  const Server *two = &g_servers[1];
  char empty[] = "/tmp/canopy-servers-XXXXXX";
  CHECK(mkdtemp(empty) != NULL, "no directory");
  Directives list = {.count = 0};
  AddText(&list, PMIX_SERVER_TMPDIR, empty);
  EXPECT(PMIX_ERR_UNREACH, Attach(list, NULL));
  rmdir(empty);
  list = At(two);
  AddText(&list, PMIX_SERVER_NSPACE, "no.such.server");
  EXPECT(PMIX_ERR_UNREACH, Attach(list, NULL));
  list = At(two);
  AddText(&list, PMIX_SERVER_HOSTNAME, "no.such.host");
  EXPECT(PMIX_ERR_NOT_SUPPORTED, Attach(list, NULL));
}

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void TriesAgain(void) {
  Directives list = {.count = 0};
  AddText(&list, PMIX_SERVER_URI, "nowhere.0;tcp4://127.0.0.1:1");
  AddU32(&list, PMIX_CONNECT_MAX_RETRIES, 1);
  AddU32(&list, PMIX_CONNECT_RETRY_DELAY, 2);
  const double begin = Seconds();
  EXPECT(PMIX_ERR_UNREACH, Attach(list, NULL));
  CHECK(Seconds() - begin >= 2, "refused after %f s", Seconds() - begin);
}

static void SystemServer(void) {
  const Server *two = &g_servers[1];
  char place[] = "/tmp/canopy-servers-XXXXXX";
  char host[256];
  char path[sizeof(place) + sizeof(host) + 16];
  CHECK(mkdtemp(place) != NULL, "no directory");
  gethostname(host, sizeof(host));
  snprintf(path, sizeof(path), "%s/pmix.sys.%s", place, host);
  Directives first = At(two);
  AddText(&first, PMIX_SYSTEM_TMPDIR, place);
  Directives only = first;
  AddFlag(&first, PMIX_CONNECT_SYSTEM_FIRST, true);
  AddFlag(&only, PMIX_CONNECT_TO_SYSTEM, true);
  Choosing(first, "no system server first");
  EXPECT(PMIX_ERR_UNREACH, Attach(only, NULL));
  CHECK(symlink(two->file, path) == 0, "symlink");
  Choosing(only, "system server");
  // The directory of the first directive has another server, but the system
  // server is tried first.
  first.info[0].value.data.string = (char *)g_servers[0].directory;
  Choosing(first, "system server first");
  unlink(path);
  rmdir(place);
}

static void NoSense(void) {
  const Server *two = &g_servers[1];
  Directives list = File(two);
  AddText(&list, PMIX_TOOL_NSPACE, "another.name");
  EXPECT(PMIX_ERR_BAD_PARAM, Attach(list, NULL));
  list = File(two);
  AddText(&list, PMIX_TOOL_NSPACE, g_self.nspace);
  AddU32(&list, PMIX_TOOL_RANK, g_self.rank + 1);
  EXPECT(PMIX_ERR_BAD_PARAM, Attach(list, NULL));
  list = File(two);
  AddFlag(&list, PMIX_TOOL_DO_NOT_CONNECT, true);
  EXPECT(PMIX_ERR_BAD_PARAM, Attach(list, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_tool_attach_to_server(NULL, NULL, NULL, 1));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_tool_set_server(NULL, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_tool_disconnect(NULL));
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_tool_disconnect(&two->name));
}

static void *AttachLater(void *unused) {
  (void)unused;
  usleep(100000);
  Attached(File(&g_servers[1]), &g_servers[1]);
  return NULL;
}

static void Waiting(void) {
  const Server *one = &g_servers[0];
  const Server *two = &g_servers[1];
  pthread_t later;
  EXPECT(PMIX_ERR_UNREACH, PMIx_tool_set_server(&two->name, NULL, 0));
  Directives wait = Timeout(1);
  AddFlag(&wait, PMIX_WAIT_FOR_CONNECTION, true);
  EXPECT(PMIX_ERR_TIMEOUT,
         PMIx_tool_set_server(&two->name, wait.info, wait.count));
  Are(1, one, NULL);
  CHECK(pthread_create(&later, NULL, AttachLater, NULL) == 0, "no thread");
  wait = Flag(PMIX_WAIT_FOR_CONNECTION);
  OK(PMIx_tool_set_server(&two->name, wait.info, wait.count));
  CHECK(pthread_join(later, NULL) == 0, "join");
  Are(2, two, one);
}

// First the second server becomes the primary server, and then there is no
// server.
static void Disconnecting(void) {
  const Server *one = &g_servers[0];
  const Server *two = &g_servers[1];
  OK(Ask());
  Drop(two);
  Are(1, one, NULL);
  CHECK(PMIx_tool_is_connected(), "not connected");
  EXPECT(PMIX_ERR_UNREACH, Ask());
  OK(PMIx_tool_set_server(&one->name, NULL, 0));
  OK(Ask());
  Drop(one);
  CHECK(!PMIx_tool_is_connected(), "still connected");
  // The first server is the primary server.
  Attached(File(one), one);
  Are(1, one, NULL);
  OK(Ask());
}

static void OlderForm(void) {
  const Server *one = &g_servers[0];
  const Server *two = &g_servers[1];
  Directives list = File(two);
  pmix_proc_t self;
  OK(PMIx_tool_connect_to_server(&self, list.info, list.count));
  CHECK(PMIX_CHECK_PROCID(&self, &g_self), "I became %s", self.nspace);
  Are(1, two, NULL);
  list = File(one);
  OK(PMIx_tool_connect_to_server(NULL, list.info, list.count));
  Are(1, one, NULL);
}

// An event that both servers report arrives once. A handler's codes are also
// registered at a server that is attached later.
static void Events(void) {
  const Server *one = &g_servers[0];
  const Server *two = &g_servers[1];
  WatchEnd(g_nspace);
  Attached(File(two), two);
  Drop(one);
  Attached(File(one), one);
  OK(PMIx_tool_set_server(&two->name, NULL, 0));
  Are(2, two, one);
  KillWatched();
  // The reply of server `one` comes after all messages that it has sent before,
  // such as its event.
  OK(PMIx_tool_set_server(&one->name, NULL, 0));
  EXPECT(PMIX_ERR_NOT_FOUND, Ask());  // no namespace is left
  OK(PMIx_tool_finalize());
  CHECK(CountOf(&g_ended) == 1, "told %d times", CountOf(&g_ended));
}

int main(int argc, char **argv) {
  Arm(argc, argv);
  CHECK(argc > 4, "no directory and no namespace");
  g_nspace = argv[4];
  FindServers(argv[3]);
  Outside();
  Directives list = File(&g_servers[0]);
  OK(PMIx_tool_init(&g_self, list.info, list.count));
  Attaching();
  Choices();
  Excludes();
  TriesAgain();
  SystemServer();
  NoSense();
  Waiting();
  Disconnecting();
  OlderForm();
  Events();
  g_self.rank = 0;
  return Kept();
}
