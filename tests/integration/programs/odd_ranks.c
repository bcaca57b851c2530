/* Ranks of a host that misbehaves (odd_host.c).
 *
 *   odd_ranks MODE
 *
 * Each call gets a clear status if the host does not serve it, and no call
 * hangs. */
#define _GNU_SOURCE
#include <pmix.h>
#include <pmix_tool.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "status_check.h"

static const char *mode;

#define CHECK_FAILS(call)                                \
  do {                                                   \
    const pmix_status_t got = (call);                    \
    if (got == PMIX_SUCCESS) fail(__LINE__, #call, got); \
  } while (0)

static bool is(const char *name) { return strcmp(mode, name) == 0; }

static pmix_info_t in_a_second(void) {
  pmix_info_t info;
  int seconds = 1;
  PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
  return info;
}

static pmix_status_t fence(void) {
  pmix_info_t collect;
  bool yes = true;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  return PMIx_Fence(NULL, 0, &collect, 1);
}

static void put(void) {
  pmix_value_t value;
  uint32_t number = 100 + self.rank;
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
  CHECK_OK(PMIx_Put(PMIX_GLOBAL, "odd", &value));
  CHECK_OK(PMIx_Commit());
}

static void neighbour_has(uint32_t rank) {
  pmix_proc_t proc = self;
  proc.rank = rank;
  pmix_value_t *value = NULL;
  CHECK_OK(PMIx_Get(&proc, "odd", NULL, 0, &value));
  if (value->data.uint32 != 100 + rank) fail(__LINE__, "its data", PMIX_ERROR);
  PMIX_VALUE_RELEASE(value);
}

static pmix_status_t spawn(const pmix_info_t *info, size_t ninfo) {
  pmix_app_t app;
  pmix_status_t rc = PMIX_SUCCESS;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup("/bin/true");
  PMIX_ARGV_APPEND(rc, app.argv, "true");
  CHECK_OK(rc);
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  rc = PMIx_Spawn(info, ninfo, &app, 1, nspace);
  PMIX_APP_DESTRUCT(&app);
  return rc;
}

static pmix_status_t look_up(const pmix_info_t *info, size_t ninfo) {
  pmix_pdata_t found;
  PMIX_PDATA_CONSTRUCT(&found);
  strcpy(found.key, "nobody's");
  return PMIx_Lookup(&found, 1, info, ninfo);
}

static pmix_status_t connect_all(const pmix_info_t *info, size_t ninfo) {
  pmix_proc_t all = self;
  all.rank = PMIX_RANK_WILDCARD;
  return PMIx_Connect(&all, 1, info, ninfo);
}

/* ---- The behaviour in each mode ---- */

static void silent(void) {
  const pmix_info_t soon = in_a_second();
  CHECK_STATUS(PMIx_Fence(NULL, 0, &soon, 1), PMIX_ERR_TIMEOUT);
  CHECK_STATUS(connect_all(&soon, 1), PMIX_ERR_TIMEOUT);
  CHECK_STATUS(look_up(&soon, 1), PMIX_ERR_TIMEOUT);
  CHECK_STATUS(spawn(&soon, 1), PMIX_ERR_TIMEOUT);
  CHECK_OK(fence());
  neighbour_has(0);
}

static void lies(void) {
  CHECK_STATUS(fence(), PMIX_ERR_UNPACK_FAILURE);
  CHECK_OK(fence());
  neighbour_has(0);
  CHECK_FAILS(spawn(NULL, 0));
}

static void unanswered(void) {
  const pmix_info_t soon = in_a_second();
  CHECK_STATUS(look_up(&soon, 1), PMIX_ERR_TIMEOUT);
  CHECK_OK(fence());
}

/* With a single node, the library serves fences and direct modex itself. */
static void nothing(void) {
  CHECK_OK(fence());
  neighbour_has(0);
  CHECK_STATUS(connect_all(NULL, 0), PMIX_ERR_NOT_SUPPORTED);
  CHECK_STATUS(look_up(NULL, 0), PMIX_ERR_NOT_SUPPORTED);
  CHECK_STATUS(spawn(NULL, 0), PMIX_ERR_NOT_SUPPORTED);
  pmix_info_t info, *results = NULL;
  size_t count = 0;
  bool yes = true;
  PMIX_INFO_LOAD(&info, "odd.key", "text", PMIX_STRING);
  CHECK_STATUS(PMIx_Publish(&info, 1), PMIX_ERR_NOT_SUPPORTED);
  PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_PAUSE, &yes, PMIX_BOOL);
  CHECK_STATUS(PMIx_Job_control(&self, 1, &info, 1, &results, &count),
               PMIX_ERR_NOT_SUPPORTED);
  CHECK_STATUS(
      PMIx_Allocation_request(PMIX_ALLOC_NEW, NULL, 0, &results, &count),
      PMIX_ERR_NOT_SUPPORTED);
  pmix_byte_object_t bytes = {"x", 1};
  CHECK_STATUS(PMIx_IOF_push(&self, 1, &bytes, NULL, 0, NULL, NULL),
               PMIX_ERR_NOT_SUPPORTED);
}

/* The job of another user exists, and must not be readable. */
static const char *const jobs[] = {"odd-job", "other-job"};
static const char *own_job;

static pmix_status_t size_of(const char *job) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, job, PMIX_RANK_WILDCARD);
  pmix_value_t *value = NULL;
  const pmix_status_t rc = PMIx_Get(&proc, PMIX_JOB_SIZE, NULL, 0, &value);
  if (rc == PMIX_SUCCESS) PMIX_VALUE_RELEASE(value);
  return rc;
}

static void see_own_job_alone(void) {
  for (int i = 0; i < 2; ++i) {
    const bool own = strcmp(jobs[i], own_job) == 0;
    CHECK_STATUS(size_of(jobs[i]),
                 own ? PMIX_SUCCESS : PMIX_ERR_NO_PERMISSIONS);
    char *nodes = NULL;
    pmix_status_t rc = PMIx_Resolve_nodes(jobs[i], &nodes);
    if ((rc == PMIX_SUCCESS) != own) fail(__LINE__, "its nodes", rc);
    free(nodes);
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_PROC_TABLE);
    CHECK_OK(rc);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, jobs[i], PMIX_STRING);
    pmix_info_t *results = NULL;
    size_t count = 0;
    CHECK_STATUS(PMIx_Query_info(&query, 1, &results, &count),
                 own ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    PMIX_INFO_FREE(results, count);
    PMIX_QUERY_DESTRUCT(&query);
  }
}

static void tool(void) {
  const char *names[] = {"PMIX_NAMESPACE", "PMIX_RANK", "CANOPY_NAMESPACE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) unsetenv(names[i]);
  pmix_info_t info;
  pid_t host = getppid();
  PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &host, PMIX_PID);
  CHECK_OK(PMIx_tool_init(&self, &info, 1));
  if (strcmp(self.nspace, "the-tool") != 0)
    fail(__LINE__, self.nspace, PMIX_ERROR);
  if (is("has-users")) see_own_job_alone();
  CHECK_OK(PMIx_tool_finalize());
}

static void refused(void) {
  const pmix_status_t rc = PMIx_Init(&self, NULL, 0);
  const char *rank = getenv("PMIX_RANK");
  const bool wanted = rank == NULL || strcmp(rank, "1") != 0;
  if (wanted != (rc == PMIX_SUCCESS)) fail(__LINE__, "PMIx_Init", rc);
#ifdef CANOPY_SERVER_MODULE_ENTRIES
  if (!wanted && rc != PMIX_ERR_NO_PERMISSIONS) fail(__LINE__, "PMIx_Init", rc);
#endif
  if (wanted) CHECK_OK(PMIx_Finalize(NULL, 0));
}

static void fails(pmix_status_t status, void *ended) {
  if (status == PMIX_SUCCESS) fail(__LINE__, "PMIx_Fence_nb", status);
  atomic_store((atomic_bool *)ended, true);
}

/* When the first rank spawns, the fence of the other ranks is already at the
 * server. If the server dies, a library of OpenPMIx never ends a request that
 * it has not sent yet. */
static void spawn_for_all(void) {
  pmix_proc_t proc = self;
  pmix_value_t *value = NULL;
  proc.rank = PMIX_RANK_WILDCARD;
  CHECK_OK(PMIx_Get(&proc, PMIX_JOB_SIZE, NULL, 0, &value));
  const uint32_t ranks = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  for (proc.rank = 1; proc.rank < ranks; ++proc.rank) {
    CHECK_OK(PMIx_Get(&proc, "waits", NULL, 0, &value));
    PMIX_VALUE_RELEASE(value);
  }
  CHECK_FAILS(spawn(NULL, 0));
}

static void wait_in_fence(void) {
  static atomic_bool ended;
  CHECK_OK(PMIx_Fence_nb(NULL, 0, NULL, 0, fails, &ended));
  pmix_value_t value;
  const bool yes = true;
  PMIX_VALUE_LOAD(&value, &yes, PMIX_BOOL);
  CHECK_OK(PMIx_Put(PMIX_GLOBAL, "waits", &value));
  CHECK_OK(PMIx_Commit());
  while (!ended) usleep(1000);
}

static void dying(void) {
  if (is("dies-in-a-spawn")) {
    CHECK_OK(fence());
    if (self.rank == 0) {
      spawn_for_all();
    } else {
      wait_in_fence();
    }
  }
  CHECK_FAILS(PMIx_Fence(NULL, 0, NULL, 0));
  /* The server may be gone already. */
  (void)PMIx_Finalize(NULL, 0);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  mode = argv[1];
  alarm(60);
  if (is("has-a-tool")) tool();
  if (is("refuses") || is("refuses-at-once")) refused();
  if (!is("has-a-tool") && !is("refuses") && !is("refuses-at-once")) {
    CHECK_OK(PMIx_Init(&self, NULL, 0));
    put();
    if (is("dies-in-a-fence") || is("dies-in-a-spawn")) {
      dying();
    } else {
      if (is("is-silent")) {
        silent();
      } else if (is("answers-late")) {
        unanswered();
      } else if (is("lies")) {
        lies();
      } else if (is("has-nothing") || is("has-no-module")) {
        nothing();
      } else { /* the other modes, such as "answers twice" */
        for (int i = 0; i < 5; ++i) CHECK_OK(fence());
        neighbour_has(0);
      }
      own_job = strcmp(self.nspace, jobs[0]) == 0 ? jobs[0] : jobs[1];
      if (is("has-users")) see_own_job_alone();
      CHECK_OK(PMIx_Finalize(NULL, 0));
      if (is("has-users")) tool();
    }
  }
  printf("%s ok\n", mode);
  return 0;
}
