/* Spawns this program with attributes. Usage: parent MODE
 *
 * events    the spawner gets events of the start, of each end and of the job's
 *           end
 * failing   it gets an event of a failed process in a job that continues
 * restarts  it gets an event of a restarted process
 * index     names of processes have their ranks
 * cpus      processes use one CPU only
 * file PATH output goes to files
 *
 * Children are started as "parent child MODE". */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "pmix_check.h"

enum { kMaxEvents = 64, kMaxInfos = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
  pmix_status_t status;
  pmix_rank_t rank;   /* the affected rank */
  pmix_status_t end;  /* of the job */
} events[kMaxEvents];
static int num_events;

/* Returns true for events about this process's own job. They also arrive at a
 * process that has only registered for their codes. */
static bool is_own(const pmix_info_t *info, size_t ninfo) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (!PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) continue;
    return strcmp(info[i].value.data.proc->nspace, self.nspace) == 0;
  }
  return false;
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                     size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                     void *data) {
  (void)id, (void)source, (void)results, (void)nresults;
  pthread_mutex_lock(&lock);
  if (num_events < kMaxEvents && !is_own(info, ninfo)) {
    events[num_events].status = status;
    events[num_events].rank = PMIX_RANK_UNDEF;
    events[num_events].end = PMIX_ERROR;
    for (size_t i = 0; i < ninfo; ++i) {
      if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
        events[num_events].rank = info[i].value.data.proc->rank;
      } else if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) {
        events[num_events].end = info[i].value.data.status;
      }
    }
    ++num_events;
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static int count(pmix_status_t status) {
  int n = 0;
  for (int i = 0; i < num_events; ++i) n += events[i].status == status;
  return n;
}

static void await(pmix_status_t status, int times) {
  pthread_mutex_lock(&lock);
  while (count(status) < times) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void subscribe(void) {
  pmix_status_t codes[] = {PMIX_EVENT_JOB_START,      PMIX_LAUNCH_COMPLETE,
                           PMIX_EVENT_JOB_END,        PMIX_EVENT_PROC_TERMINATED,
                           PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_ERR_PROC_RESTART};
  const int rc = PMIx_Register_event_handler(
      codes, sizeof(codes) / sizeof(codes[0]), NULL, 0, on_event, NULL, NULL);
  check(rc < 0 ? rc : PMIX_SUCCESS, "register");
}

static pmix_info_t infos[kMaxInfos];
static size_t num_infos;

static void say(const char *key) {
  bool yes = true;
  PMIX_INFO_LOAD(&infos[num_infos++], key, &yes, PMIX_BOOL);
}

static void text(const char *key, const char *value) {
  PMIX_INFO_LOAD(&infos[num_infos++], key, value, PMIX_STRING);
}

static void spawn(const char *program, const char *mode, int procs) {
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup(program);
  app.argv = calloc(4, sizeof(char *));
  app.argv[0] = strdup(program);
  app.argv[1] = strdup("child");
  app.argv[2] = strdup(mode);
  app.maxprocs = procs;
  char nspace[PMIX_MAX_NSLEN + 1];
  check(PMIx_Spawn(infos, num_infos, &app, 1, nspace), "spawn");
}

/* ----------------------------------------------------------------- child --- */

static int child(const char *name, const char *mode) {
  check(PMIx_Init(&self, NULL, 0), "init");
  pmix_value_t *value = NULL;
  check(PMIx_Get(&self, PMIX_REINCARNATION, NULL, 0, &value), "incarnation");
  const unsigned incarnation = value->data.uint32;
  if (strcmp(mode, "index") == 0) printf("%s is rank %u\n", name, self.rank);
  if (strcmp(mode, "file") == 0) printf("rank %u was here\n", self.rank);
  if (strcmp(mode, "cpus") == 0) {
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof(cpus), &cpus);
    printf("rank %u on %d CPU\n", self.rank, CPU_COUNT(&cpus));
  }
  fflush(stdout);
  if (self.rank == 1 && strcmp(mode, "failing") == 0) _exit(3);
  if (self.rank == 1 && strcmp(mode, "restarts") == 0 && incarnation == 0) {
    _exit(3);
  }
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}

/* ---------------------------------------------------------------- parent --- */

static void hear_of_all(const char *program) {
  say(PMIX_NOTIFY_JOB_EVENTS);
  say(PMIX_NOTIFY_PROC_TERMINATION);
  say(PMIX_LOG_JOB_EVENTS);
  spawn(program, "events", 2);
  await(PMIX_EVENT_JOB_END, 1);
  await(PMIX_EVENT_PROC_TERMINATED, 2);
  want((unsigned)count(PMIX_EVENT_JOB_START), 1, "starts");
  want((unsigned)count(PMIX_LAUNCH_COMPLETE), 1, "launches");
  for (int i = 0; i < num_events; ++i) {
    if (events[i].status != PMIX_EVENT_JOB_END) continue;
    want(events[i].end == PMIX_SUCCESS, 1, "the end in order");
  }
}

static void hear_of_rank_1(const char *program, const char *mode,
                           pmix_status_t status) {
  say(PMIX_NOTIFY_COMPLETION);
  say(PMIX_LOG_PROC_ABNORMAL_TERMINATION);
  spawn(program, mode, 3);
  await(status, 1);
  await(PMIX_EVENT_JOB_END, 1);
  for (int i = 0; i < num_events; ++i) {
    if (events[i].status == status) want(events[i].rank, 1, "the failed rank");
    if (events[i].status != PMIX_EVENT_JOB_END) continue;
    want(events[i].end == PMIX_SUCCESS, 1, "the end in order");
  }
}

int main(int argc, char **argv) {
  const char *const mode = argc > 1 ? argv[1] : "";
  if (argc > 2 && strcmp(mode, "child") == 0) return child(argv[0], argv[2]);
  check(PMIx_Init(&self, NULL, 0), "init");
  subscribe();
  if (strcmp(mode, "events") == 0) {
    hear_of_all(argv[0]);
  } else if (strcmp(mode, "failing") == 0) {
    say(PMIX_JOB_RECOVERABLE);
    hear_of_rank_1(argv[0], mode, PMIX_ERR_PROC_TERM_WO_SYNC);
  } else if (strcmp(mode, "restarts") == 0) {
    const uint32_t once = 1;
    PMIX_INFO_LOAD(&infos[num_infos++], PMIX_MAX_RESTARTS, &once, PMIX_UINT32);
    hear_of_rank_1(argv[0], mode, PMIX_ERR_PROC_RESTART);
  } else {
    if (strcmp(mode, "index") == 0) say(PMIX_INDEX_ARGV);
    if (strcmp(mode, "cpus") == 0) text(PMIX_CPU_LIST, "0");
    if (strcmp(mode, "file") == 0) text(PMIX_OUTPUT_TO_FILE, argv[2]);
    spawn(argv[0], mode, 2);
  }
  check(PMIx_Finalize(NULL, 0), "finalize");
  printf("%s: all is well\n", mode);
  return 0;
}
