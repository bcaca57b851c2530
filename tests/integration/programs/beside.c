/* Starts jobs beside other jobs. Usage: beside MODE [DIRECTORY]
 *
 * tool      tools run although all slots are taken, and wait for the file "go"
 * two       a cospawned application is a job of its own, and waits, too
 * fails     the failure of a cospawned job does not affect the other job
 * neither   two jobs start together, and one of them cannot start
 *
 * Children are started as "beside child NAME [FILE]", and wait for the file. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "pmix_check.h"

static const char *directory = "";
static const bool yes = true;

static const char *in_place(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static void await_file(const char *path) {
  while (access(path, F_OK) != 0) usleep(5000);
}

static void make_file(const char *name) {
  const int fd = open(in_place(name), O_CREAT | O_WRONLY, 0666);
  check(fd < 0 ? PMIX_ERROR : PMIX_SUCCESS, name);
  close(fd);
}

static unsigned job_size(const char *nspace) {
  pmix_proc_t job;
  pmix_value_t *value = NULL;
  PMIX_PROC_LOAD(&job, nspace, PMIX_RANK_WILDCARD);
  check(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), "size");
  const unsigned size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return size;
}

/* ----------------------------------------------------------------- child ---
 */

static unsigned parent_rank(void) {
  pmix_value_t *value = NULL;
  check(PMIx_Get(&self, PMIX_PARENT_ID, NULL, 0, &value), "parent");
  const unsigned rank = value->data.proc->rank;
  PMIX_VALUE_RELEASE(value);
  return rank;
}

static int child(const char *name, const char *file) {
  check(PMIx_Init(&self, NULL, 0), "init");
  printf("%s %u of %u, parent %u\n", name, self.rank, job_size(self.nspace),
         parent_rank());
  fflush(stdout);
  if (file != NULL) await_file(file);
  if (strcmp(name, "failing") == 0) _exit(3);
  check(PMIx_Finalize(NULL, 0), "finalize");
  if (file != NULL) printf("%s %u goes on\n", name, self.rank);
  return 0;
}

/* ---------------------------------------------------------------- parent ---
 */

static pmix_app_t app(const char *program, const char *name, const char *file,
                      int procs) {
  pmix_app_t out;
  PMIX_APP_CONSTRUCT(&out);
  out.cmd = strdup(program);
  out.argv = calloc(5, sizeof(char *));
  out.argv[0] = strdup(program);
  out.argv[1] = strdup("child");
  out.argv[2] = strdup(name);
  if (file != NULL) out.argv[3] = strdup(file);
  out.maxprocs = procs;
  return out;
}

static void designate(pmix_app_t *app, const char *also) {
  PMIX_INFO_CREATE(app->info, 2);
  app->ninfo = also != NULL ? 2 : 1;
  PMIX_INFO_LOAD(&app->info[0], PMIX_COSPAWN_APP, &yes, PMIX_BOOL);
  PMIX_INFO_REQUIRED(&app->info[0]);
  if (also != NULL) PMIX_INFO_LOAD(&app->info[1], also, &yes, PMIX_BOOL);
}

static void spawn_tools(const char *program) {
  pmix_app_t tools = app(program, "tool", in_place("go"), 2);
  char nspace[PMIX_MAX_NSLEN + 1];
  const pmix_status_t full = PMIx_Spawn(NULL, 0, &tools, 1, nspace);
  want(full == PMIX_ERR_JOB_INSUFFICIENT_RESOURCES, 1,
       "refusal, as it is full");
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_SPAWN_TOOL, &yes, PMIX_BOOL);
  PMIX_INFO_REQUIRED(&info);
  check(PMIx_Spawn(&info, 1, &tools, 1, nspace), "spawn of tools");
  want(job_size(nspace), 2, "size of the tools' job");
}

static void spawn_two(const char *program) {
  pmix_app_t apps[3] = {app(program, "cospawned", in_place("go"), 1),
                        app(program, "main", in_place("go"), 2),
                        app(program, "cospawned", in_place("go"), 1)};
  designate(&apps[0], NULL);
  designate(&apps[2], NULL);
  char nspace[PMIX_MAX_NSLEN + 1];
  check(PMIx_Spawn(NULL, 0, apps, 3, nspace), "spawn of two jobs");
  want(job_size(nspace), 2, "size of the main job");
  apps[1] = apps[0];
  const pmix_status_t all = PMIx_Spawn(NULL, 0, apps, 2, nspace);
  want(all == PMIX_ERR_BAD_PARAM, 1, "refusal, as no job is left");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool has_ended;

static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                   size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                   void *data) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  pthread_mutex_lock(&lock);
  has_ended = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* The attributes of a job's only application belong to that job: the reported
 * end is the end of the cospawned job. */
static void outlive_failing(const char *program) {
  pmix_status_t code = PMIX_EVENT_JOB_END;
  const int rc =
      PMIx_Register_event_handler(&code, 1, NULL, 0, on_end, NULL, NULL);
  check(rc < 0 ? rc : PMIX_SUCCESS, "register");
  char nspace[PMIX_MAX_NSLEN + 1];
  pmix_app_t apps[2] = {app(program, "main", in_place("end"), 2),
                        app(program, "failing", in_place("go"), 1)};
  designate(&apps[1], PMIX_NOTIFY_COMPLETION);
  check(PMIx_Spawn(NULL, 0, apps, 2, nspace), "spawn of two jobs");
  make_file("go");
  pthread_mutex_lock(&lock);
  while (!has_ended) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  make_file("end");
}

/* If one of two jobs cannot start, the other does not outlive the call. */
static void spawn_neither(const char *program) {
  char nspace[PMIX_MAX_NSLEN + 1];
  for (int which = 0; which < 2; ++which) {
    pmix_app_t apps[2] = {app(program, "main", "/nowhere/never", 2),
                          app(program, "cospawned", "/nowhere/never", 1)};
    designate(&apps[1], NULL);
    apps[which].cmd = strdup("/nowhere/program");
    const pmix_status_t status = PMIx_Spawn(NULL, 0, apps, 2, nspace);
    want(status == PMIX_ERR_JOB_EXE_NOT_FOUND, 1, "the cause");
  }
}

int main(int argc, char **argv) {
  const char *const mode = argc > 1 ? argv[1] : "";
  if (argc > 2 && strcmp(mode, "child") == 0) return child(argv[2], argv[3]);
  if (argc > 2) directory = argv[2];
  check(PMIx_Init(&self, NULL, 0), "init");
  if (self.rank == 0) {
    if (strcmp(mode, "tool") == 0) spawn_tools(argv[0]);
    if (strcmp(mode, "two") == 0) spawn_two(argv[0]);
    if (strcmp(mode, "fails") == 0) outlive_failing(argv[0]);
    if (strcmp(mode, "neither") == 0) spawn_neither(argv[0]);
    printf("%s: all is well\n", mode);
    fflush(stdout);
  }
  fence(0);
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
