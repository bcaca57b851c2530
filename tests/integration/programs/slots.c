/* Tests the answers of a host that is a resource manager of two nodes
 * (two_servers.c).
 *
 *   slots N PROGRAM
 *
 * PROGRAM is this program, which is spawned as well, with the library that it
 * was built for. */
#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "status_check.h"

static uint32_t size;

#define CHECK(what) \
  if (!(what)) fail(__LINE__, #what, PMIX_ERROR)

static pmix_proc_t peer(uint32_t rank) {
  pmix_proc_t proc = self;
  proc.rank = rank;
  return proc;
}

static void put(const char *key, uint32_t number) {
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
  CHECK_OK(PMIx_Put(PMIX_GLOBAL, key, &value));
  CHECK_OK(PMIx_Commit());
}

static void expect(uint32_t rank, const char *key, uint32_t number) {
  pmix_proc_t proc = peer(rank);
  pmix_value_t *value = NULL;
  CHECK_OK(PMIx_Get(&proc, key, NULL, 0, &value));
  CHECK(value->type == PMIX_UINT32 && value->data.uint32 == number);
  PMIX_VALUE_RELEASE(value);
}

/* Without a fence, gets data of the rank on the other node, which commits once.
 */
static void modex(void) {
  put("direct", 100 + self.rank);
  for (uint32_t rank = 0; rank < size; ++rank)
    expect(rank, "direct", 100 + rank);
  put("collected", 200 + self.rank);
  bool yes = true;
  pmix_info_t collect;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  CHECK_OK(PMIx_Fence(NULL, 0, &collect, 1));
  for (uint32_t rank = 0; rank < size; ++rank) {
    expect(rank, "collected", 200 + rank);
  }
}

static void connections(void) {
  pmix_proc_t all = peer(PMIX_RANK_WILDCARD);
  CHECK_OK(PMIx_Connect(&all, 1, NULL, 0));
  CHECK_OK(PMIx_Disconnect(&all, 1, NULL, 0));
}

/* The host's answer has the data that members of both nodes share, and the
 * context id that the host chooses. */
static void groups(void) {
  pmix_proc_t all = peer(PMIX_RANK_WILDCARD);
  pmix_info_t info[2], *results = NULL;
  size_t count = 0, context = 0;
  bool yes = true;
  PMIX_INFO_LOAD(&info[0], PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
  char text[] = "endpoint";
  pmix_byte_object_t endpoint = {text, sizeof text};
  PMIX_INFO_LOAD(&info[1], PMIX_GROUP_ENDPT_DATA, &endpoint, PMIX_BYTE_OBJECT);
  CHECK_OK(PMIx_Group_construct("of both nodes", &all, 1, info, 2, &results,
                                &count));
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(results[i].key, PMIX_GROUP_CONTEXT_ID) == 0) {
      context = results[i].value.data.size;
    }
  }
  CHECK(context == 4711);
#ifdef CANOPY_SERVER_MODULE_ENTRIES
  uint32_t endpoints = 0;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(results[i].key, PMIX_GROUP_ENDPT_DATA) == 0) ++endpoints;
  }
  CHECK(endpoints == size);
#endif
  CHECK_OK(PMIx_Group_destruct("of both nodes", NULL, 0));
}

/* Counts events of all ranks, including ranks of the other node. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint32_t heard;
static char output[64];
static uint32_t output_source;

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                     size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                     void *data) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  pthread_mutex_lock(&lock);
  ++heard;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* The members of both nodes are notified of a leaving process, and do not wait
 * for it. */
static void leaving(void) {
#ifdef CANOPY_SERVER_MODULE_ENTRIES
  pmix_proc_t all = peer(PMIX_RANK_WILDCARD);
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_status_t code = PMIX_GROUP_LEFT;
  const pmix_status_t handler =
      PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
  CHECK(handler >= 0);
  CHECK_OK(PMIx_Group_construct("left", &all, 1, NULL, 0, &results, &count));
  if (self.rank == 0) {
    CHECK_OK(PMIx_Group_leave("left", NULL, 0));
  } else {
    pthread_mutex_lock(&lock);
    while (heard == 0) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    CHECK_OK(PMIx_Group_destruct("left", NULL, 0));
  }
  CHECK_OK(PMIx_Deregister_event_handler((size_t)handler, NULL, NULL));
  heard = 0;
#endif
}

static void events(void) {
  pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 7;
  CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL) >=
        0);
  CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
  CHECK_OK(
      PMIx_Notify_event(code, &self, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
  pthread_mutex_lock(&lock);
  while (heard < size - 1) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void names(void) {
  char key[32];
  pmix_info_t info;
  snprintf(key, sizeof key, "name of %u", self.rank);
  PMIX_INFO_LOAD(&info, key, "here", PMIX_STRING);
  CHECK_OK(PMIx_Publish(&info, 1));
  pmix_pdata_t found;
  PMIX_PDATA_CONSTRUCT(&found);
  strcpy(found.key, key);
  CHECK_OK(PMIx_Lookup(&found, 1, NULL, 0));
  CHECK(strcmp(found.value.data.string, "here") == 0);
  CHECK(found.proc.rank == self.rank);
  char *keys[] = {key, NULL};
  CHECK_OK(PMIx_Unpublish(keys, NULL, 0));
  PMIX_PDATA_CONSTRUCT(&found);
  strcpy(found.key, key);
  CHECK_STATUS(PMIx_Lookup(&found, 1, NULL, 0), PMIX_ERR_NOT_FOUND);
}

static void text_is(pmix_info_t *results, size_t count, const char *text) {
  CHECK(count >= 1 && results != NULL);
  CHECK(results[0].value.type == PMIX_STRING);
  CHECK(strcmp(results[0].value.data.string, text) == 0);
}

static void answers(void) {
  pmix_info_t *results = NULL, info;
  size_t count = 0;
  pmix_status_t rc = PMIX_SUCCESS;
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, "some.key");
  CHECK_OK(rc);
  CHECK_OK(PMIx_Query_info(&query, 1, &results, &count));
  text_is(results, count, "of the host");
  uint64_t nodes = 1;
  PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
  CHECK_OK(PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &count));
  text_is(results, count, "allocated");
  bool yes = true;
  pmix_proc_t target = peer(0);
  PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_PAUSE, &yes, PMIX_BOOL);
  CHECK_OK(PMIx_Job_control(&target, 1, &info, 1, &results, &count));
  text_is(results, count, "controlled");
  PMIX_INFO_LOAD(&info, PMIX_MONITOR_FILE, "/tmp", PMIX_STRING);
  CHECK_OK(PMIx_Process_monitor(&info, PMIX_MONITOR_FILE_ALERT, NULL, 0,
                                &results, &count));
  text_is(results, count, "monitored");
  PMIX_INFO_LOAD(&info, "site.log", "a line", PMIX_STRING);
  CHECK_OK(PMIx_Log(&info, 1, NULL, 0));
}

/* Waits until the host reports this state. It may be late, because the calls
 * that end a registration or a pull do not wait until the host is notified. */
static void state_becomes(const char *text) {
  for (int i = 0;; ++i) {
    pmix_info_t *results = NULL;
    size_t count = 0;
    pmix_status_t rc = PMIX_SUCCESS;
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(rc, query.keys, "host.state");
    CHECK_OK(rc);
    bool yes = true;
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &yes,
                   PMIX_BOOL);
    CHECK_OK(PMIx_Query_info(&query, 1, &results, &count));
    CHECK(count == 1 && results[0].value.type == PMIX_STRING);
    if (strcmp(results[0].value.data.string, text) == 0) return;
    if (i == 500) fprintf(stderr, "%s\n", results[0].value.data.string);
    CHECK(i < 500);
    usleep(10000);
  }
}

static void on_output(size_t handle, pmix_iof_channel_t channel,
                      pmix_proc_t *source, pmix_byte_object_t *bytes,
                      pmix_info_t info[], size_t ninfo) {
  (void)handle, (void)channel, (void)info, (void)ninfo;
  pthread_mutex_lock(&lock);
  if (bytes != NULL && bytes->size > 0) {
    strncat(output, bytes->bytes, bytes->size);
    output_source = source->rank;
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static pmix_status_t outcome = 1; /* not yet known */

static void on_done(pmix_status_t status, void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  outcome = status;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

/* Returns the result of a call that was accepted with this status, and that
 * calls on_done. Without a callback, release 4.2.2 of OpenPMIx deadlocks in
 * PMIx_IOF_push, and frees the request of PMIx_IOF_deregister in both of its
 * threads. */
static pmix_status_t outcome_of(pmix_status_t accepted) {
  if (accepted != PMIX_SUCCESS) return accepted;
  pthread_mutex_lock(&lock);
  while (outcome > 0) pthread_cond_wait(&changed, &lock);
  const pmix_status_t status = outcome;
  outcome = 1;
  pthread_mutex_unlock(&lock);
  return status;
}

/* Each rank pulls the output of the next rank. Ranks 0 and 1 are on different
 * nodes, and push. */
static void streams(void) {
  pmix_status_t code = PMIX_EVENT_NODE_DOWN;
  const pmix_status_t handler =
      PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
  CHECK(handler >= 0);
  pmix_proc_t next = peer((self.rank + 1) % size), first = peer(0);
  const pmix_status_t handle = PMIx_IOF_pull(
      &next, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL, NULL);
  CHECK(handle >= 0);
  pthread_mutex_lock(&lock);
  while (strcmp(output, "first\nsecond\n") != 0) {
    pthread_cond_wait(&changed, &lock);
  }
  pthread_mutex_unlock(&lock);
  CHECK(output_source == next.rank);
  char text[] = "hello";
  pmix_byte_object_t bytes = {text, sizeof text - 1};
  if (self.rank < 2) {
    CHECK_OK(
        outcome_of(PMIx_IOF_push(&first, 1, &bytes, NULL, 0, on_done, NULL)));
  }
  CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
  char state[64];
  snprintf(state, sizeof state, "1 codes, %u pulls, hello typed", size / 2);
  state_becomes(state);
  CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
  CHECK_OK(
      outcome_of(PMIx_IOF_deregister((size_t)handle, NULL, 0, on_done, NULL)));
  CHECK_OK(PMIx_Deregister_event_handler((size_t)handler, NULL, NULL));
  CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
  snprintf(state, sizeof state, "0 codes, %u pulls, hello typed", size / 2 - 1);
  state_becomes(state);
}

static void credentials(void) {
  pmix_byte_object_t credential = {NULL, 0};
  CHECK_OK(PMIx_Get_credential(NULL, 0, &credential));
  CHECK(credential.size == sizeof "secret");
  pmix_info_t *results = NULL;
  size_t count = 0;
  CHECK_OK(PMIx_Validate_credential(&credential, NULL, 0, &results, &count));
  credential.bytes[0] = 'S';
  CHECK_STATUS(PMIx_Validate_credential(&credential, NULL, 0, &results, &count),
               PMIX_ERR_INVALID_CRED);
}

static void fabric_has(const pmix_fabric_t *fabric, size_t num_devices) {
  CHECK(fabric->ninfo == 3 && fabric->info != NULL);
  CHECK(strcmp(fabric->info[0].value.data.string, "of the host") == 0);
  CHECK(fabric->info[1].value.data.size == num_devices);
}

/* With release 4.2.2 of OpenPMIx, the program itself sets the index, and a
 * rejected call has no data and no status. */
static void fabrics(void) {
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  pmix_info_t plane;
  PMIX_INFO_LOAD(&plane, PMIX_FABRIC_PLANE, "south", PMIX_STRING);
#ifdef CANOPY_SERVER_MODULE_ENTRIES
  CHECK_STATUS(PMIx_Fabric_register(&fabric, &plane, 1), PMIX_ERR_NOT_FOUND);
#endif
  PMIX_INFO_LOAD(&plane, PMIX_FABRIC_PLANE, "north", PMIX_STRING);
  CHECK_OK(PMIx_Fabric_register(&fabric, &plane, 1));
  fabric_has(&fabric, 1);
#ifdef CANOPY_SERVER_MODULE_ENTRIES
  CHECK(fabric.index == 5);
#endif
  fabric.index = 5;
  CHECK_OK(PMIx_Fabric_update(&fabric));
  fabric_has(&fabric, 2);
  CHECK_OK(PMIx_Fabric_deregister(&fabric));
}

/* The child ends when it has its data: the host has no fence for it. */
static void spawn(char *program) {
  pmix_status_t rc = PMIX_SUCCESS;
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup(program);
  PMIX_ARGV_APPEND(rc, app.argv, program);
  PMIX_ARGV_APPEND(rc, app.argv, "child");
  CHECK_OK(rc);
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  CHECK_OK(PMIx_Spawn(NULL, 0, &app, 1, nspace));
  CHECK(strcmp(nspace, "spawned") == 0);
  pmix_proc_t child;
  PMIX_LOAD_PROCID(&child, nspace, PMIX_RANK_WILDCARD);
  pmix_value_t *value = NULL;
  CHECK_OK(PMIx_Get(&child, PMIX_JOB_SIZE, NULL, 0, &value));
  CHECK(value->data.uint32 == 1);
}

int main(int argc, char **argv) {
  CHECK_OK(PMIx_Init(&self, NULL, 0));
  if (argc == 2 && strcmp(argv[1], "child") == 0) {
    CHECK(strcmp(self.nspace, "spawned") == 0);
    printf("child ok\n");
    fflush(stdout);
    CHECK_OK(PMIx_Finalize(NULL, 0));
    return 0;
  }
  CHECK(argc == 3);
  size = (uint32_t)atoi(argv[1]);
  modex();
  connections();
  groups();
  leaving();
  events();
  names();
  answers();
  streams();
  credentials();
  fabrics();
  if (self.rank < 2) spawn(argv[2]);
  CHECK_OK(PMIx_Fence(NULL, 0, NULL, 0));
  if (self.rank == 0) printf("slots ok size %u\n", size);
  fflush(stdout);
  CHECK_OK(PMIx_Finalize(NULL, 0));
  return 0;
}
