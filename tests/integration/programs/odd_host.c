/* A resource manager of one node that misbehaves.
 *
 *   odd_host MODE N PROGRAM [ARGUMENT...]
 *
 * Starts N ranks of PROGRAM with MODE before the arguments (odd_ranks.c
 * describes their expectations). Exits with the first exit code that is not 0.
 * The library is opened with dlopen, and closed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pmix.h>
#include <pmix_server.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each of several jobs has a user of its own: kFirstUser, and so on. */
enum { kCycles = 3, kMaxJobs = 2, kFirstUser = 60001 };

static const char *mode;
static int num_procs;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- The library ---- */

static void *library;

static void *symbol(const char *name) {
  void *found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "odd_host: %s\n", dlerror());
    _exit(125);
  }
  return found;
}
#define LIB(name) ((__typeof__(&name))symbol(#name))

static void check(pmix_status_t status, const char *what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  fprintf(stderr, "odd_host: %s: %d\n", what, status);
  _exit(125);
}

static bool is(const char *name) { return strcmp(mode, name) == 0; }

/* ---- Answers from another thread ---- */

typedef struct {
  pmix_op_cbfunc_t op;
  pmix_modex_cbfunc_t modex;
  pmix_spawn_cbfunc_t spawn;
  pmix_status_t status;
  void *cbdata;
  int times;
  char *data;
  size_t size;
} answer_t;

static void *give(void *argument) {
  answer_t *answer = argument;
  usleep(20000);
  for (int i = 0; i < answer->times; ++i) {
    if (answer->op != NULL) answer->op(answer->status, answer->cbdata);
    if (answer->modex != NULL) {
      answer->modex(answer->status, answer->data, answer->size, answer->cbdata,
                    NULL, NULL);
    }
  }
  free(answer->data);
  free(answer);
  return NULL;
}

static void answer_later(answer_t answer) {
  answer_t *copy = malloc(sizeof *copy);
  *copy = answer;
  pthread_t thread;
  pthread_create(&thread, NULL, give, copy);
  pthread_detach(thread);
}

/* ---- The module ---- */

static pmix_status_t connected(const pmix_proc_t *proc, void *object,
                               pmix_info_t info[], size_t ninfo,
                               pmix_op_cbfunc_t done, void *cbdata) {
  (void)object, (void)info, (void)ninfo;
  if (is("refuses-at-once") && proc->rank == 1) return PMIX_ERR_NO_PERMISSIONS;
  const bool refuse = is("refuses") && proc->rank == 1;
  answer_later(
      (answer_t){.op = done,
                 .status = refuse ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS,
                 .cbdata = cbdata,
                 .times = 2});
  return PMIX_SUCCESS;
}

static pmix_status_t finalized(const pmix_proc_t *proc, void *object,
                               pmix_op_cbfunc_t done, void *cbdata) {
  (void)proc, (void)object, (void)done, (void)cbdata;
  return PMIX_OPERATION_SUCCEEDED;
}

static int num_fences;

static pmix_status_t fence(const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo, char *data,
                           size_t size, pmix_modex_cbfunc_t done,
                           void *cbdata) {
  (void)procs, (void)nprocs, (void)info, (void)ninfo;
  const bool first = num_fences++ == 0;
  if (first && is("dies-in-a-fence")) _exit(0);
  if (first && is("is-silent")) {
    free(data);
    return PMIX_SUCCESS;
  }
  answer_t answer = {
      .modex = done, .cbdata = cbdata, .times = 3, .data = data, .size = size};
  if (first && is("lies")) {
    answer.data = realloc(data, 64);
    answer.size = 64;
    memset(answer.data, 0xa5, 64);
  }
  answer_later(answer);
  return PMIX_SUCCESS;
}

static pmix_status_t connect_procs(const pmix_proc_t procs[], size_t nprocs,
                                   const pmix_info_t info[], size_t ninfo,
                                   pmix_op_cbfunc_t done, void *cbdata) {
  (void)procs, (void)nprocs, (void)info, (void)ninfo, (void)done, (void)cbdata;
  return PMIX_SUCCESS; /* the host never answers */
}

static pmix_lookup_cbfunc_t looked_up;
static void *lookup_cbdata;

static pmix_status_t lookup(const pmix_proc_t *proc, char **keys,
                            const pmix_info_t info[], size_t ninfo,
                            pmix_lookup_cbfunc_t done, void *cbdata) {
  (void)proc, (void)keys, (void)info, (void)ninfo;
  looked_up = done;
  lookup_cbdata = cbdata;
  return PMIX_SUCCESS; /* answered after the server's end, if at all */
}

static atomic_bool spawning;
static pmix_status_t own_spawn;

static pmix_status_t spawn(const pmix_proc_t *proc, const pmix_info_t info[],
                           size_t ninfo, const pmix_app_t apps[], size_t napps,
                           pmix_spawn_cbfunc_t done, void *cbdata) {
  (void)proc, (void)info, (void)ninfo, (void)apps, (void)napps, (void)cbdata;
  if (is("dies-in-a-spawn")) _exit(0);
  if (is("lies")) done(PMIX_SUCCESS, NULL, cbdata);
  spawning = true;
  return PMIX_SUCCESS;
}

/* The host's own process waits for a job that its function never starts. */
static void *spawn_for_itself(void *unused) {
  pmix_app_t app;
  memset(&app, 0, sizeof app);
  app.cmd = (char *)"nothing";
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  own_spawn = LIB(PMIx_Spawn)(NULL, 0, &app, 1, nspace);
  return unused;
}

static bool user_is_served(uid_t user) {
  if (!is("has-users")) return user == getuid();
  return user >= kFirstUser && user < kFirstUser + kMaxJobs;
}

static void tool(pmix_info_t *info, size_t ninfo,
                 pmix_tool_connection_cbfunc_t done, void *cbdata) {
  bool told = false, proved = false;
  for (size_t i = 0; i < ninfo; ++i) {
    told |= strcmp(info[i].key, PMIX_USERID) == 0 &&
            user_is_served(info[i].value.data.uint32);
    proved |= strcmp(info[i].key, PMIX_CREDENTIAL) == 0 &&
              info[i].value.type == PMIX_BYTE_OBJECT &&
              info[i].value.data.bo.size >= sizeof(uid_t);
  }
  told &= proved;
  static pmix_rank_t num_tools;
  pmix_proc_t name;
  PMIX_LOAD_PROCID(&name, "the-tool", num_tools++);
  done(told ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, &name, cbdata);
}

/* Accepts the connections of both sockets itself, until the server ends. */
typedef struct {
  int fd;
  pmix_connection_cbfunc_t give;
  void *cbdata;
  pthread_t thread;
} listener_t;
static listener_t listeners[2];
static int num_listeners;
static atomic_bool listening;

static void *accept_all(void *argument) {
  listener_t *listener = argument;
  struct pollfd wait = {listener->fd, POLLIN, 0};
  while (listening) {
    if (poll(&wait, 1, 20) <= 0) continue;
    const int connection = accept(listener->fd, NULL, NULL);
    if (connection >= 0) listener->give(connection, listener->cbdata);
  }
  return NULL;
}

static pmix_status_t listen_for(int fd, pmix_connection_cbfunc_t give,
                                void *cbdata) {
  if (num_listeners == 2) return PMIX_ERR_OUT_OF_RESOURCE;
  listener_t *listener = &listeners[num_listeners++];
  *listener = (listener_t){.fd = fd, .give = give, .cbdata = cbdata};
  listening = true;
  pthread_create(&listener->thread, NULL, accept_all, listener);
  return PMIX_SUCCESS;
}

static void stop_listening(void) {
  listening = false;
  for (int i = 0; i < num_listeners; ++i) {
    pthread_join(listeners[i].thread, NULL);
  }
  num_listeners = 0;
}

static pmix_server_module_t full = {.client_connected2 = connected,
                                    .client_finalized = finalized,
                                    .fence_nb = fence,
                                    .connect = connect_procs,
                                    .lookup = lookup,
                                    .spawn = spawn,
                                    .tool_connected = tool};
static pmix_server_module_t empty;

/* ---- Jobs ---- */

static pmix_info_t text(const char *key, const char *value) {
  pmix_info_t info;
  memset(&info, 0, sizeof info);
  strcpy(info.key, key);
  info.value.type = PMIX_STRING;
  info.value.data.string = (char *)value;
  return info;
}

static pmix_info_t number(const char *key, uint32_t value) {
  pmix_info_t info = text(key, NULL);
  info.value.type = PMIX_UINT32;
  info.value.data.uint32 = value;
  return info;
}

static void refused(const char *what, pmix_info_t *info, size_t ninfo) {
  pmix_nspace_t nspace = "odd-job";
  const pmix_status_t status =
      LIB(PMIx_server_register_nspace)(nspace, 1, info, ninfo, NULL, NULL);
  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) return;
  fprintf(stderr, "odd_host: %s was accepted\n", what);
  _exit(125);
}

/* The server must refuse these maps. Afterwards the job can be registered. */
static void register_nonsense(void) {
  pmix_info_t lacks[] = {text(PMIX_PROC_MAP, "0;1")};
  refused("a map without nodes", lacks, 1);
  pmix_info_t other[] = {text(PMIX_NODE_MAP, "a,b"),
                         text(PMIX_PROC_MAP, "0;1;2")};
  refused("a map of other nodes", other, 2);
  pmix_info_t sizes[] = {text(PMIX_NODE_MAP, "a"), text(PMIX_PROC_MAP, "0,1"),
                         number(PMIX_JOB_SIZE, 3)};
  refused("another size", sizes, 3);
  pmix_info_t cut[] = {text(PMIX_NODE_MAP, "pmix[a[3:x]]"),
                       text(PMIX_PROC_MAP, "0")};
  refused("a malformed map", cut, 2);
  pmix_info_t typed[] = {number(PMIX_NODE_MAP, 1)};
  refused("a map that is no text", typed, 1);
  pmix_info_t array[] = {number(PMIX_PROC_DATA, 1)};
  refused("an array that is none", array, 1);
  refused("an array that is not there", NULL, 3);
}

static void register_job(const char *name) {
  char ranks[512] = "";
  for (int rank = 0; rank < num_procs; ++rank) {
    sprintf(ranks + strlen(ranks), "%s%d", rank == 0 ? "" : ",", rank);
  }
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  char *node_map, *proc_map;
  check(LIB(PMIx_generate_regex)(host, &node_map), "node map");
  check(LIB(PMIx_generate_ppn)(ranks, &proc_map), "map of the processes");
  pmix_info_t info[3];
  memset(info, 0, sizeof info);
  strcpy(info[0].key, PMIX_JOB_SIZE);
  info[0].value.type = PMIX_UINT32;
  info[0].value.data.uint32 = (uint32_t)num_procs;
  strcpy(info[1].key, PMIX_NODE_MAP);
  info[1].value.type = PMIX_STRING;
  info[1].value.data.string = node_map;
  strcpy(info[2].key, PMIX_PROC_MAP);
  info[2].value.type = PMIX_STRING;
  info[2].value.data.string = proc_map;
  pmix_nspace_t nspace = "";
  strcpy(nspace, name);
  check(
      LIB(PMIx_server_register_nspace)(nspace, num_procs, info, 3, NULL, NULL),
      "register a job");
  free(node_map);
  free(proc_map);
}

static void start(const char *name, int rank, uid_t user, char **argv) {
  pmix_proc_t proc = {.rank = (pmix_rank_t)rank};
  strcpy(proc.nspace, name);
  check(LIB(PMIx_server_register_client)(&proc, user, user, NULL, NULL, NULL),
        "register a process");
  char **env = calloc(1, sizeof *env);
  size_t count = 0;
  for (; environ[count] != NULL; ++count) {
    env = realloc(env, (count + 2) * sizeof *env);
    env[count] = strdup(environ[count]);
    env[count + 1] = NULL;
  }
  check(LIB(PMIx_server_setup_fork)(&proc, &env), "environment of a process");
  const pid_t pid = fork();
  if (pid != 0) return;
  if (user != getuid() && (setgid(user) != 0 || setuid(user) != 0)) _exit(126);
  execvpe(argv[0], argv, env);
  _exit(127);
}

static int wait_for_all(void) {
  int code = 0, status;
  while (wait(&status) > 0) {
    const int one =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code == 0) code = one;
  }
  return code;
}

static int serve(char **argv) {
  pmix_info_t tools;
  memset(&tools, 0, sizeof tools);
  strcpy(tools.key, PMIX_SERVER_TOOL_SUPPORT);
  tools.value.type = PMIX_BOOL;
  tools.value.data.flag = true;
  pmix_server_module_t *module = is("has-no-module") ? NULL
                                 : is("has-nothing") ? &empty
                                                     : &full;
  if (is("accepts-itself")) full.listener = listen_for;
  check(LIB(PMIx_server_init)(module, &tools, 1), "start of the server");
  if (is("accepts-itself") && num_listeners != 2) _exit(124);
  const bool users = is("has-users");
  const char *names[kMaxJobs] = {"odd-job", "other-job"};
  if (is("tells-nonsense")) register_nonsense();
  for (int job = 0; job < (users ? kMaxJobs : 1); ++job) {
    register_job(names[job]);
    for (int rank = 0; rank < num_procs; ++rank) {
      start(names[job], rank, users ? kFirstUser + (uid_t)job : getuid(), argv);
    }
  }
  const int code = wait_for_all();
  if (!is("leaves-jobs")) {
    for (int job = 0; job < (users ? kMaxJobs : 1); ++job) {
      pmix_nspace_t nspace = "";
      strcpy(nspace, names[job]);
      LIB(PMIx_server_deregister_nspace)(nspace, NULL, NULL);
    }
  }
  stop_listening();
  pthread_t spawner;
  if (is("asks-itself")) {
    pthread_create(&spawner, NULL, spawn_for_itself, NULL);
    while (!spawning) usleep(1000);
  }
  check(LIB(PMIx_server_finalize)(), "end of the server");
  if (is("asks-itself")) {
    pthread_join(spawner, NULL);
    if (own_spawn != PMIX_ERR_LOST_CONNECTION) check(own_spawn, "own spawn");
    if (own_spawn == PMIX_SUCCESS) _exit(124);
  }
  if (is("answers-late")) {
    if (looked_up == NULL) _exit(124);
    looked_up(PMIX_SUCCESS, NULL, 0, lookup_cbdata);
  }
  return code;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  mode = argv[1];
  num_procs = atoi(argv[2]);
  if (num_procs < 1 || num_procs > 64) return 2;
  argv[2] = argv[3]; /* PROGRAM MODE ... */
  argv[3] = argv[1];
  /* Waits for the processes that the host leaves behind, too. */
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (fork() != 0) return wait_for_all();
  int code = 0;
  for (int i = 0; i < (is("comes-again") || is("leaves-jobs") ? kCycles : 1);
       ++i) {
    library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "odd_host: %s\n", dlerror());
      return 125;
    }
    num_fences = 0;
    if (code == 0) code = serve(argv + 2);
    dlclose(library);
  }
  return code;
}
