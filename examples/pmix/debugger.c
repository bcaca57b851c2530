/* A debugger, as far as PMIx is concerned; gdb does the rest. It is started by
 * hand on a node of an overlay.
 *
 * debugger NAMESPACE           prints the processes of a running job
 * debugger NAMESPACE release   waits for PMIX_READY_FOR_DEBUG first, and ends
 *                              with PMIX_DEBUGGER_RELEASE
 * debugger NAMESPACE free      releases without waiting: no event reports
 *                              processes that are stopped at their exec
 * debugger attach DAEMON NAMESPACE
 *                              starts a daemon on each node of a running job
 * debugger direct DAEMON N PROGRAM [ARGS]
 *                              starts the job itself, with all ranks stopped in
 *                              PMIx_Init; then the daemons; then releases the
 *                              ranks
 * debugger indirect DAEMON LAUNCHER [ARGS]
 *                              the same with a job that a launcher starts, such
 *                              as "canopy run -n 4 PROGRAM"; the launcher stops
 *                              until it has received directives for the job
 * DAEMON is the path of debugger_daemon. */
#include <pmix_tool.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pmix_nspace_t target; /* the job */

/* Names of jobs from events, which may arrive before this tool needs them. */
enum { kMaxNames = 64 };
typedef struct {
  pmix_nspace_t names[kMaxNames];
  int count;
} Names;
static Names ready;
static Names over;

/* ------------------------------------------------------------- events --- */

static void note(Names *names, const char *nspace) {
  pthread_mutex_lock(&mutex);
  if (names->count < kMaxNames) {
    PMIX_LOAD_NSPACE(names->names[names->count++], nspace);
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static bool has(const Names *names, const char *nspace) {
  for (int i = 0; i < names->count; ++i) {
    if (strcmp(names->names[i], nspace) == 0) return true;
  }
  return false;
}

static void wait_for(const Names *names, const char *nspace) {
  pthread_mutex_lock(&mutex);
  while (!has(names, nspace)) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

/* Waits until `names` has a job, and copies the first one to `nspace`. */
static void wait_for_any(const Names *names, pmix_nspace_t nspace) {
  pthread_mutex_lock(&mutex);
  while (names->count == 0) pthread_cond_wait(&changed, &mutex);
  PMIX_LOAD_NSPACE(nspace, names->names[0]);
  pthread_mutex_unlock(&mutex);
}

static void on_ready(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                     size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cbfunc, void *cbdata) {
  (void)id, (void)status, (void)results, (void)nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_BREAKPOINT)) {
      printf("%s ready at %s\n", source->nspace, info[i].value.data.string);
    }
  }
  note(&ready, source->nspace);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                   size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                   void *cbdata) {
  (void)id, (void)status, (void)source, (void)results, (void)nresults;
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
      note(&over, info[i].value.data.proc->nspace);
    }
  }
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void watch(pmix_status_t code, pmix_notification_fn_t handler) {
  CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, handler, NULL, NULL) >=
        0);
}

/* ------------------------------------------------------------ the job --- */

static void print_processes(void) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  PMIX_QUERY_CONSTRUCT(&query);
  pmix_status_t status;
  PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_PROC_TABLE);
  CHECK_OK(status);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
  PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, target, PMIX_STRING);
  CHECK_OK(PMIx_Query_info(&query, 1, &results, &count));
  CHECK(count == 1 && results[0].value.type == PMIX_DATA_ARRAY);
  const pmix_data_array_t *table = results[0].value.data.darray;
  const pmix_proc_info_t *rows = table->array;
  for (size_t i = 0; i < table->size; ++i) {
    printf("rank %u pid %d on %s: %s\n", rows[i].proc.rank, (int)rows[i].pid,
           rows[i].hostname, rows[i].executable_name);
  }
  PMIX_INFO_FREE(results, count);
  PMIX_QUERY_DESTRUCT(&query);
}

static void release(const char *nspace) {
  pmix_proc_t all;
  pmix_info_t infos[2];
  PMIX_PROC_LOAD(&all, nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&infos[0], PMIX_EVENT_CUSTOM_RANGE, &all, PMIX_PROC);
  PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
  CHECK_OK(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &self, PMIX_RANGE_CUSTOM,
                             infos, 2, NULL, NULL));
  PMIX_INFO_DESTRUCT(&infos[0]);
  PMIX_INFO_DESTRUCT(&infos[1]);
}

/* Prints the job's output here, including earlier output. */
static void show_output(const char *nspace) {
  pmix_proc_t all;
  pmix_info_t copy;
  PMIX_PROC_LOAD(&all, nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&copy, PMIX_IOF_COPY, NULL, PMIX_BOOL);
  CHECK(PMIx_IOF_pull(&all, 1, &copy, 1,
                      PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL, NULL,
                      NULL, NULL) >= 0);
  PMIX_INFO_DESTRUCT(&copy);
}

/* ------------------------------------------------------------- spawns --- */

enum { kMaxInfos = 8 };

static void spawn(char **argv, int maxprocs, pmix_info_t infos[], size_t ninfo,
                  pmix_nspace_t nspace) {
  pmix_app_t app;
  char directory[4096];
  CHECK(getcwd(directory, sizeof directory) != NULL);
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.cwd = directory;
  app.maxprocs = maxprocs;
  CHECK_OK(PMIx_Spawn(infos, ninfo, &app, 1, nspace));
  for (size_t i = 0; i < ninfo; ++i) PMIX_INFO_DESTRUCT(&infos[i]);
}

/* Fills in the attributes of a job that this tool starts: it is notified of the
 * job's end, and may pull its output. */
static size_t load_common(pmix_info_t infos[]) {
  PMIX_INFO_LOAD(&infos[0], PMIX_FWD_STDOUT, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_FWD_STDERR, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[2], PMIX_NOTIFY_COMPLETION, NULL, PMIX_BOOL);
  return 3;
}

/* Starts one daemon on each node of the target. Their job ends when all daemons
 * have printed their processes. */
static void run_daemons(char *path) {
  char *argv[] = {path, NULL};
  pmix_info_t infos[kMaxInfos];
  pmix_proc_t all;
  pmix_nspace_t nspace;
  uint16_t one = 1;
  size_t n = load_common(infos);
  PMIX_PROC_LOAD(&all, target, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&infos[n], PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[n + 1], PMIX_DEBUG_TARGET, &all, PMIX_PROC);
  PMIX_INFO_LOAD(&infos[n + 2], PMIX_DEBUG_DAEMONS_PER_NODE, &one, PMIX_UINT16);
  spawn(argv, 0, infos, n + 3, nspace);
  show_output(nspace);
  wait_for(&over, nspace);
}

static void start_job(int ranks, char **argv) {
  pmix_info_t infos[kMaxInfos];
  size_t n = load_common(infos);
  /* Distributes the ranks over the nodes, with as many on each as necessary. */
  PMIX_INFO_LOAD(&infos[n], PMIX_MAPBY, "node:oversubscribe", PMIX_STRING);
  PMIX_INFO_LOAD(&infos[n + 1], PMIX_DEBUG_STOP_IN_INIT, NULL, PMIX_BOOL);
  spawn(argv, ranks, infos, n + 2, target);
}

/* The launcher becomes the server of this tool. It stops while it starts, so
 * that this tool misses no event of the launcher's job. Then it starts the job
 * with the directives of this tool. */
static void start_launcher(char **argv) {
  pmix_proc_t server;
  pmix_nspace_t nspace;
  pmix_info_t wait;
  pmix_info_t of_job;
  pmix_info_t infos[kMaxInfos];
  pmix_data_array_t directives = {PMIX_INFO, 1, &of_job};
  PMIX_INFO_LOAD(&of_job, PMIX_DEBUG_STOP_IN_INIT, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[0], PMIX_SPAWN_TOOL, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_DEBUG_STOP_IN_INIT, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[2], PMIX_LAUNCH_DIRECTIVES, &directives,
                 PMIX_DATA_ARRAY);
  spawn(argv, 1, infos, 3, nspace);
  PMIX_PROC_LOAD(&server, nspace, 0);
  PMIX_INFO_LOAD(&wait, PMIX_WAIT_FOR_CONNECTION, NULL, PMIX_BOOL);
  CHECK_OK(PMIx_tool_set_server(&server, &wait, 1));
  PMIX_INFO_DESTRUCT(&wait);
  PMIX_INFO_DESTRUCT(&of_job);
  release(nspace);
}

/* -------------------------------------------------------------- modes --- */

static void debug(char *daemon) {
  wait_for(&ready, target);
  print_processes();
  fflush(stdout);
  run_daemons(daemon);
  release(target);
  wait_for(&over, target);
}

static int usage(const char *name) {
  fprintf(stderr,
          "usage: %s NAMESPACE [release | free]\n"
          "       %s attach DAEMON NAMESPACE\n"
          "       %s direct DAEMON N PROGRAM [ARGS]\n"
          "       %s indirect DAEMON LAUNCHER [ARGS]\n",
          name, name, name, name);
  return 2;
}

static int look(const char *word) {
  CHECK_OK(PMIx_tool_init(&self, NULL, 0));
  if (strcmp(word, "release") == 0) {
    watch(PMIX_READY_FOR_DEBUG, on_ready);
    wait_for(&ready, target);
  }
  print_processes();
  if (*word != 0) release(target);
  CHECK_OK(PMIx_tool_finalize());
  return 0;
}

static int with_daemons(char **argv) {
  const bool indirect = strcmp(argv[1], "indirect") == 0;
  pmix_info_t alone[2];
  PMIX_INFO_LOAD(&alone[0], PMIX_LAUNCHER, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&alone[1], PMIX_TOOL_DO_NOT_CONNECT, NULL, PMIX_BOOL);
  CHECK_OK(PMIx_tool_init(&self, alone, indirect ? 2 : 1));
  watch(PMIX_READY_FOR_DEBUG, on_ready);
  watch(PMIX_EVENT_JOB_END, on_end);
  if (strcmp(argv[1], "attach") == 0) {
    PMIX_LOAD_NSPACE(target, argv[3]);
    run_daemons(argv[2]);
  } else if (indirect) {
    start_launcher(argv + 3);
    wait_for_any(&ready, target);
    debug(argv[2]);
  } else {
    start_job(atoi(argv[3]), argv + 4);
    show_output(target);
    debug(argv[2]);
  }
  CHECK_OK(PMIx_tool_finalize());
  return 0;
}

int main(int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : "";
  if (strcmp(word, "attach") == 0) {
    return argc == 4 ? with_daemons(argv) : usage(argv[0]);
  }
  if (strcmp(word, "direct") == 0) {
    return argc > 4 ? with_daemons(argv) : usage(argv[0]);
  }
  if (strcmp(word, "indirect") == 0) {
    return argc > 3 ? with_daemons(argv) : usage(argv[0]);
  }
  if (*word == '\0') return usage(argv[0]);
  PMIX_LOAD_NSPACE(target, word);
  return look(argc > 2 ? argv[2] : "");
}
