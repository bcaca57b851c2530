// Stops for a debugger, the release of processes, and debugger daemons beside a
// job: DBG-01 to DBG-10, DBG-13 and DBG-14. Rank 0 spawns. "debug SIZE NODES
// child ..." are the programs that it spawns:
//   app              rank 1 stops where it chooses
//   sized N          is one of N processes
//   daemon N NSPACE  is one of N daemons that debug the job NSPACE; "-": that
//                    debug any other job
#include <time.h>

#include "check.h"
#include "release.h"

#ifndef PMIX_SPAWN_CHILD_SEP
#define PMIX_SPAWN_CHILD_SEP "pmix.spchildsep"
#endif

enum { kMaxEvents = 1024, kMaxWords = 8 };

// Events of jobs. An event may arrive before this process knows the job.
typedef struct {
  pmix_status_t code;
  pmix_nspace_t nspace;
  char breakpoint[32];
  pmix_status_t status;  // status of a job that has ended
} Event;

static Event g_events[kMaxEvents];
static int g_num_events;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)results, (void)nresults;
  Event event = {.code = status};
  PMIX_LOAD_NSPACE(event.nspace, source->nspace);
  for (size_t i = 0; i < ninfo; ++i) {
    const pmix_value_t *value = &info[i].value;
    if (PMIX_CHECK_KEY(&info[i], PMIX_BREAKPOINT)) {
      snprintf(event.breakpoint, sizeof(event.breakpoint), "%s",
               value->data.string);
    } else if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) {
      event.status = value->data.status;
    } else if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
      PMIX_LOAD_NSPACE(event.nspace, value->data.proc->nspace);
    }
  }
  pthread_mutex_lock(&g_lock);
  CHECK(g_num_events < kMaxEvents, "more events than there is room for");
  g_events[g_num_events++] = event;
  pthread_cond_broadcast(&g_changed);
  pthread_mutex_unlock(&g_lock);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void Watch(pmix_status_t code) {
  const pmix_status_t got =
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnEvent, NULL, NULL);
  CHECK(got >= 0, "registration gave %d", got);
}

static Event Await(pmix_status_t code, const char *nspace) {
  pthread_mutex_lock(&g_lock);
  for (int i = 0;; ++i) {
    while (i >= g_num_events) pthread_cond_wait(&g_changed, &g_lock);
    if (g_events[i].code != code) continue;
    if (strcmp(g_events[i].nspace, nspace) != 0) continue;
    const Event event = g_events[i];
    pthread_mutex_unlock(&g_lock);
    return event;
  }
}

static void AwaitGoodEnd(const char *nspace) {
  const Event end = Await(PMIX_EVENT_JOB_END, nspace);
  CHECK(end.status == PMIX_SUCCESS, "%s ended with %s", nspace,
        PMIx_Error_string(end.status));
}

static int NumEvents(void) {
  pthread_mutex_lock(&g_lock);
  const int count = g_num_events;
  pthread_mutex_unlock(&g_lock);
  return count;
}

// Waits for the normal end of another job, about which no event had arrived
// before `first`.
static void AwaitOthersGoodEnd(const char *nspace, int first) {
  Event end = {.code = 0};
  pthread_mutex_lock(&g_lock);
  for (int i = first; end.code != PMIX_EVENT_JOB_END; ++i) {
    while (i >= g_num_events) pthread_cond_wait(&g_changed, &g_lock);
    if (strcmp(g_events[i].nspace, nspace) != 0) end = g_events[i];
  }
  pthread_mutex_unlock(&g_lock);
  CHECK(end.status == PMIX_SUCCESS, "%s ended with %s", end.nspace,
        PMIx_Error_string(end.status));
}

// ------------------------------------------------------------- spawning ---

typedef struct {
  char *argv[kMaxWords];
  pmix_app_t app;
} Child;

static void Make(Child *child, int procs, char *kind, char *first,
                 char *second) {
  static char program[4096];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
  CHECK(size > 0, "no program");
  program[size] = '\0';
  char *words[] = {program, "1", "1", "child", kind, first, second, NULL};
  memcpy(child->argv, words, sizeof(words));
  PMIX_APP_CONSTRUCT(&child->app);
  child->app.cmd = program;
  child->app.argv = child->argv;
  child->app.maxprocs = procs;
}

// Returns directives by which the ends of the spawned jobs do not end this job.
static Directives Common(void) {
  Directives list = Flag(PMIX_SPAWN_CHILD_SEP);
  AddFlag(&list, PMIX_NOTIFY_JOB_EVENTS, true);
  AddText(&list, PMIX_MAPBY, "slot:oversubscribe");
  return list;
}

static void AddProc(Directives *list, const char *key, pmix_proc_t *proc) {
  pmix_info_t *info = NextInfo(list, key);
  info->value.type = PMIX_PROC;
  info->value.data.proc = proc;
}

static void AddNumber(Directives *list, const char *key, uint16_t number) {
  pmix_info_t *info = NextInfo(list, key);
  info->value.type = PMIX_UINT16;
  info->value.data.uint16 = number;
}

// ---------------------------------------------------------------- stops ---

static pmix_info_t *Table(char *key, const char *nspace) {
  char *keys[] = {key, NULL};
  Directives of = {.count = 0};
  AddText(&of, PMIX_NSPACE, nspace);
  pmix_query_t query = {.keys = keys};
  query.qualifiers = of.info;
  query.nqual = of.count;
  pmix_info_t *results = NULL;
  size_t count = 0;
  OK(PMIx_Query_info(&query, 1, &results, &count));
  CHECK(count == 1 && results[0].value.type == PMIX_DATA_ARRAY, "no table");
  CHECK(results[0].value.data.darray->type == PMIX_PROC_INFO, "another table");
  return results;
}

// Returns the state as the kernel reports it: 'T' for a stopped process.
static char StateOf(pid_t pid) {
  char path[64];
  char state = '?';
  snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
  if (file != NULL) fclose(file);
  return state;
}

// The stop follows the exec with a short delay.
static void AwaitStop(pid_t pid) {
  const struct timespec pause = {0, 10 * 1000 * 1000};
  char state = '?';
  for (int i = 0; i < 1000 && state != 'T'; ++i) {
    state = StateOf(pid);
    if (state != 'T') nanosleep(&pause, NULL);
  }
  CHECK(state == 'T', "process %d is '%c'", (int)pid, state);
}

// Releases processes that have all stopped at the breakpoint: they continue and
// end normally.
static void ReleaseAt(const char *breakpoint, const char *nspace) {
  const Event ready = Await(PMIX_READY_FOR_DEBUG, nspace);
  CHECK(strcmp(ready.breakpoint, breakpoint) == 0, "at '%s'", ready.breakpoint);
  Release(nspace, PMIX_RANK_WILDCARD);
  AwaitGoodEnd(nspace);
}

// DBG-01, DBG-14: before its first instruction a program has no effect.
static void StopsOnExec(void) {
  char *argv[] = {"/bin/sh", "-c", "exit 0", NULL};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.maxprocs = 2;
  Directives list = Common();
  AddFlag(&list, PMIX_DEBUG_STOP_ON_EXEC, true);
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(list.info, list.count, &app, 1, nspace));
  (void)Await(PMIX_LAUNCH_COMPLETE, nspace);
  pmix_info_t *all = Table(PMIX_QUERY_PROC_TABLE, nspace);
  CHECK(all->value.data.darray->size == 2, "not two processes");
  PMIX_INFO_FREE(all, 1);
  pmix_info_t *here = Table(PMIX_QUERY_LOCAL_PROC_TABLE, nspace);
  const pmix_data_array_t *table = here->value.data.darray;
  const pmix_proc_info_t *rows = table->array;
  CHECK(g_nodes > 1 || table->size == 2, "not both are here");
  for (size_t i = 0; i < table->size; ++i) AwaitStop(rows[i].pid);
  PMIX_INFO_FREE(here, 1);
  ReleaseAt("pmix-exec", nspace);
}

// DBG-02, DBG-04: one process stops.
static void StopsInInit(void) {
  Child child;
  Make(&child, 2, "sized", "2", NULL);
  Directives list = Common();
  pmix_info_t *rank = NextInfo(&list, PMIX_DEBUG_STOP_IN_INIT);
  rank->value.type = PMIX_PROC_RANK;
  rank->value.data.rank = 1;
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(list.info, list.count, &child.app, 1, nspace));
  ReleaseAt("pmix-init", nspace);
}

// DBG-03, DBG-04: a list of processes stops.
static void StopsInApp(void) {
  Child child;
  Make(&child, 2, "app", NULL, NULL);
  Directives list = Common();
  pmix_rank_t ranks[] = {1};
  pmix_data_array_t array = {PMIX_PROC_RANK, 1, ranks};
  pmix_info_t *stop = NextInfo(&list, PMIX_DEBUG_STOP_IN_APP);
  stop->value.type = PMIX_DATA_ARRAY;
  stop->value.data.darray = &array;
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(list.info, list.count, &child.app, 1, nspace));
  ReleaseAt("conformance", nspace);
}

// -------------------------------------------------------------- daemons ---

// DBG-06, DBG-07: daemons beside this job. If `key` is null, the spawn gives no
// number of daemons.
static void Daemons(const char *key, uint32_t count) {
  Child child;
  char number[16];
  snprintf(number, sizeof(number), "%u", count);
  Make(&child, 0, "daemon", number, g_self.nspace);
  Directives list = Common();
  AddFlag(&list, PMIX_DEBUGGER_DAEMONS, true);
  AddProc(&list, PMIX_DEBUG_TARGET, &g_job);
  if (key != NULL) AddNumber(&list, key, 1);
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(list.info, list.count, &child.app, 1, nspace));
  AwaitGoodEnd(nspace);
}

// DBG-08, DBG-09: daemons that are spawned together with the job that they
// debug. PMIX_DEBUG_STOP_IN_INIT stops only the debugged job; the daemons are a
// job of their own, and end while the debugged job waits.
static void CoSpawned(void) {
  Child both[2];
  Make(&both[0], 2, "sized", "2", NULL);
  Make(&both[1], 0, "daemon", "2", "-");
  Directives of_daemons = Flag(PMIX_DEBUGGER_DAEMONS);
  AddNumber(&of_daemons, PMIX_DEBUG_DAEMONS_PER_PROC, 1);
  both[1].app.info = of_daemons.info;
  both[1].app.ninfo = of_daemons.count;
  const pmix_app_t apps[] = {both[0].app, both[1].app};
  Directives list = Common();
  AddFlag(&list, PMIX_DEBUG_STOP_IN_INIT, true);
  const int before = NumEvents();
  pmix_nspace_t nspace;
  OK(PMIx_Spawn(list.info, list.count, apps, 2, nspace));
  AwaitOthersGoodEnd(nspace, before);
  Release(nspace, PMIX_RANK_WILDCARD);
  AwaitGoodEnd(nspace);
}

// DBG-01, DBG-07: debugger daemons need a target job that exists.
static void Refused(void) {
  Child child;
  pmix_nspace_t nspace;
  pmix_proc_t nobody;
  Make(&child, 0, "daemon", "1", "-");
  Directives list = Common();
  AddFlag(&list, PMIX_DEBUGGER_DAEMONS, true);
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Spawn(list.info, list.count, &child.app, 1, nspace));
  PMIX_PROC_LOAD(&nobody, "no such job", PMIX_RANK_WILDCARD);
  AddProc(&list, PMIX_DEBUG_TARGET, &nobody);
  EXPECT(PMIX_ERR_NOT_FOUND,
         PMIx_Spawn(list.info, list.count, &child.app, 1, nspace));
}

// ------------------------------------------------------------- children ---

static void OnRelease(size_t id, pmix_status_t status,
                      const pmix_proc_t *source, pmix_info_t info[],
                      size_t ninfo, pmix_info_t results[], size_t nresults,
                      pmix_event_notification_cbfunc_fn_t cbfunc,
                      void *cbdata) {
  (void)source, (void)results, (void)nresults, (void)id;
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT)) {
      Raise(info[i].value.data.ptr, status);
    }
  }
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

// Stops as an application that honours PMIX_DEBUG_STOP_IN_APP does.
static void StopHere(void) {
  static Signal released = SIGNAL_INIT;
  pmix_value_t *wish = NULL;
  OK(PMIx_Get(&g_job, PMIX_DEBUG_STOP_IN_APP, NULL, 0, &wish));
  PMIX_VALUE_RELEASE(wish);
  if (g_self.rank != 1) return;
  pmix_status_t code = PMIX_DEBUGGER_RELEASE;
  Directives with = {.count = 0};
  pmix_info_t *object = NextInfo(&with, PMIX_EVENT_RETURN_OBJECT);
  object->value.type = PMIX_POINTER;
  object->value.data.ptr = &released;
  const pmix_status_t got = PMIx_Register_event_handler(
      &code, 1, with.info, with.count, OnRelease, NULL, NULL);
  CHECK(got >= 0, "registration gave %d", got);
  Directives say = Flag(PMIX_EVENT_NON_DEFAULT);
  AddText(&say, PMIX_BREAKPOINT, "conformance");
  OK(PMIx_Notify_event(PMIX_READY_FOR_DEBUG, &g_self, PMIX_RANGE_RM, say.info,
                       say.count, NULL, NULL));
  EXPECT(PMIX_DEBUGGER_RELEASE, WaitFor(&released, 1));
}

// Checks the processes of another job, which this daemon debugs on this node.
static void LookAt(const char *nspace) {
  pmix_value_t *target = MustGet(&g_job, PMIX_DEBUG_TARGET, NULL, PMIX_PROC);
  const char *name = target->data.proc->nspace;
  CHECK(strcmp(name, g_self.nspace) != 0, "it is to debug itself");
  CHECK(nspace[0] == '-' || strcmp(name, nspace) == 0, "not %s", nspace);
  pmix_info_t *here = Table(PMIX_QUERY_LOCAL_PROC_TABLE, name);
  CHECK(here->value.data.darray->size > 0, "nothing to debug here");
  PMIX_INFO_FREE(here, 1);
  PMIX_VALUE_RELEASE(target);
}

static int RunChild(char **words) {
  OK(PMIx_Init(&g_self, NULL, 0));
  g_job = ProcOf(PMIX_RANK_WILDCARD);
  const bool daemon = strcmp(words[0], "daemon") == 0;
  if (daemon || strcmp(words[0], "sized") == 0) {
    const uint32_t size =
        MustGetNumber(&g_job, PMIX_JOB_SIZE, NULL, PMIX_UINT32);
    CHECK(size == (uint32_t)atoi(words[1]), "a job of %u, not %s", size,
          words[1]);
    // Each process has a local rank in its own job, to which the processes of
    // the other job do not belong (DBG-08).
    (void)MustGetNumber(&g_self, PMIX_LOCAL_RANK, NULL, PMIX_UINT16);
  }
  if (daemon) LookAt(words[2]);
  if (strcmp(words[0], "app") == 0) StopHere();
  OK(PMIx_Finalize(NULL, 0));
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 4 && strcmp(argv[3], "child") == 0) {
    Arm(argc, argv);
    return RunChild(argv + 4);
  }
  Start(argc, argv);
  if (g_self.rank == 0) {
    Watch(PMIX_READY_FOR_DEBUG);
    Watch(PMIX_LAUNCH_COMPLETE);
    Watch(PMIX_EVENT_JOB_END);
    StopsOnExec();
    StopsInInit();
    StopsInApp();
    Daemons(PMIX_DEBUG_DAEMONS_PER_NODE, g_nodes);
    Daemons(PMIX_DEBUG_DAEMONS_PER_PROC, g_size);
    Daemons(NULL, g_size);
    CoSpawned();
    Refused();
  }
  Barrier();
  return Finish();
}
