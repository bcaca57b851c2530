/* Calls every function of the client API that needs the server. A function that
 * is not served must fail; none may hang. */
#include <signal.h>

#include "check.h"

static void on_value(pmix_status_t status, pmix_value_t *value, void *data) {
  (void)value;
  wake((waiter_t *)data, status);
}

static void on_lookup(pmix_status_t status, pmix_pdata_t *found, size_t count,
                      void *data) {
  (void)found;
  (void)count;
  wake((waiter_t *)data, status);
}

static void on_spawn(pmix_status_t status, char *nspace, void *data) {
  (void)nspace;
  wake((waiter_t *)data, status);
}

static void on_credential(pmix_status_t status, pmix_byte_object_t *credential,
                          pmix_info_t *info, size_t ninfo, void *data) {
  (void)credential;
  (void)info;
  (void)ninfo;
  wake((waiter_t *)data, status);
}

static void on_validation(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                          void *data) {
  (void)info;
  (void)ninfo;
  wake((waiter_t *)data, status);
}

/* The final status of a non-blocking call. */
#define OUTCOME(call)                                     \
  ({                                                      \
    waiter_t waiter = WAITER_INIT;                        \
    pmix_status_t rc_ = (call);                           \
    if (rc_ == PMIX_SUCCESS) rc_ = wait_for(&waiter, 1);  \
    rc_ == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc_; \
  })

static void publishing(void) {
  pmix_info_t info;
  pmix_pdata_t found;
  char key[32];
  char *keys[] = {key, NULL};
  int number = 7;
  snprintf(key, sizeof key, "published %u", me.rank);
  PMIX_INFO_LOAD(&info, key, &number, PMIX_INT);
  OK(PMIx_Publish(&info, 1));
  EXPECT(PMIX_ERR_DUPLICATE_KEY,
         OUTCOME(PMIx_Publish_nb(&info, 1, on_op, &waiter)));
  PMIX_PDATA_CONSTRUCT(&found);
  PMIX_LOAD_KEY(found.key, key);
  OK(PMIx_Lookup(&found, 1, NULL, 0));
  EXPECT(7, found.value.data.integer);
  OK(OUTCOME(PMIx_Lookup_nb(keys, NULL, 0, on_lookup, &waiter)));
  OK(PMIx_Unpublish(keys, NULL, 0));
  OK(OUTCOME(PMIx_Unpublish_nb(keys, NULL, 0, on_op, &waiter)));
}

static void spawning(void) {
  pmix_app_t app;
  char *argv[] = {"true", NULL};
  char nspace[PMIX_MAX_NSLEN + 1];
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = "true";
  app.argv = argv;
  app.maxprocs = 1;
  OK(PMIx_Spawn(NULL, 0, &app, 1, nspace));
  OK(OUTCOME(PMIx_Spawn_nb(NULL, 0, &app, 1, on_spawn, &waiter)));
}

static void connecting(void) {
  pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
  OK(PMIx_Connect(&all, 1, NULL, 0));
  OK(PMIx_Disconnect(&all, 1, NULL, 0));
  OK(OUTCOME(PMIx_Connect_nb(&all, 1, NULL, 0, on_op, &waiter)));
  OK(OUTCOME(PMIx_Disconnect_nb(&all, 1, NULL, 0, on_op, &waiter)));
}

static void asking(void) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_status_t rc;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
  OK(rc);
  OK(PMIx_Query_info(&query, 1, &results, &count));
  EXPECT(1, count);
  TRUE_(strstr(results[0].value.data.string, me.nspace) != NULL);
  OK(OUTCOME(PMIx_Query_info_nb(&query, 1, on_info, &waiter)));
  PMIX_QUERY_DESTRUCT(&query);
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, "no.such.key");
  OK(rc);
  TRUE_(PMIx_Query_info(&query, 1, &results, &count) != PMIX_SUCCESS);
}

/* Queries the processes of the job over all nodes, each with its number. */
static void table(void) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_status_t rc;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_PROC_TABLE);
  OK(rc);
  OK(PMIx_Query_info(&query, 1, &results, &count));
  EXPECT(1, count);
  EXPECT(PMIX_DATA_ARRAY, results[0].value.type);
  const pmix_data_array_t *rows = results[0].value.data.darray;
  const pmix_proc_info_t *row = rows->array;
  TRUE_(rows->size > me.rank);
  for (size_t i = 0; i < rows->size; ++i) TRUE_(row[i].pid > 0);
  EXPECT(getpid(), row[me.rank].pid);
  PMIX_QUERY_DESTRUCT(&query);
}

static void logging(void) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_LOG_GLOBAL_SYSLOG, "a line\nand another",
                 PMIX_STRING);
  REFUSED(PMIx_Log(&info, 1, NULL, 0));
  REFUSED(OUTCOME(PMIx_Log_nb(&info, 1, NULL, 0, on_op, &waiter)));
}

static void allocating(void) {
  pmix_info_t info;
  pmix_info_t *results = NULL;
  size_t count = 0;
  uint64_t nodes = 1;
  PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
  REFUSED(PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &count));
  REFUSED(OUTCOME(
      PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, &info, 1, on_info, &waiter)));
}

static volatile sig_atomic_t signalled;

static void on_signal(int number) {
  (void)number;
  ++signalled;
}

static void controlling(void) {
  pmix_info_t info;
  pmix_info_t *results = NULL;
  size_t count = 0;
  char path[64];
  snprintf(path, sizeof path, "/tmp/canopy-openpmix-%d", getpid());
  PMIX_INFO_LOAD(&info, PMIX_REGISTER_CLEANUP, path, PMIX_STRING);
  OK(PMIx_Job_control(&me, 1, &info, 1, &results, &count));
  OK(OUTCOME(PMIx_Job_control_nb(&me, 1, &info, 1, on_info, &waiter)));
  PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_CHECKPOINT, "x", PMIX_STRING);
  TRUE_(PMIx_Job_control(&me, 1, &info, 1, &results, &count) != PMIX_SUCCESS);
  int number = SIGUSR2;
  signal(SIGUSR2, on_signal);
  PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
  OK(PMIx_Job_control(&me, 1, &info, 1, &results, &count));
  for (int i = 0; i < 1000 && !signalled; ++i) usleep(10000);
  TRUE_(signalled == 1);
}

static void monitoring(void) {
  pmix_info_t info;
  pmix_info_t *results = NULL;
  size_t count = 0;
  uint32_t seconds = 60;
  pmix_info_t directives[2];
  bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_MONITOR_FILE, "/tmp", PMIX_STRING);
  PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_FILE_CHECK_TIME, &seconds,
                 PMIX_UINT32);
  PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_FILE_SIZE, &yes, PMIX_BOOL);
  OK(PMIx_Process_monitor(&info, PMIX_MONITOR_FILE_ALERT, directives, 2,
                          &results, &count));
  PMIX_INFO_LOAD(&info, PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER);
  PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_HEARTBEAT_TIME, &seconds,
                 PMIX_UINT32);
  OK(OUTCOME(PMIx_Process_monitor_nb(&info, PMIX_MONITOR_HEARTBEAT_ALERT,
                                     directives, 1, on_info, &waiter)));
  PMIx_Heartbeat();
  PMIX_INFO_LOAD(&info, PMIX_MONITOR_CANCEL, NULL, PMIX_STRING);
  OK(PMIx_Process_monitor(&info, PMIX_SUCCESS, NULL, 0, &results, &count));
}

static void proving(void) {
  pmix_byte_object_t forged = {"abc", 3};
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_byte_object_t got;
  OK(PMIx_Get_credential(NULL, 0, &got));
  OK(OUTCOME(PMIx_Get_credential_nb(NULL, 0, on_credential, &waiter)));
  OK(PMIx_Validate_credential(&got, NULL, 0, &results, &count));
  TRUE_(count >= 3);
  PMIX_INFO_FREE(results, count);
  OK(OUTCOME(
      PMIx_Validate_credential_nb(&got, NULL, 0, on_validation, &waiter)));
  EXPECT(PMIX_ERR_INVALID_CRED,
         PMIx_Validate_credential(&forged, NULL, 0, &results, &count));
}

static void grouping(void) {
  pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
  pmix_info_t *results = NULL;
  size_t count = 0;
  OK(PMIx_Group_construct("group", &all, 1, NULL, 0, &results, &count));
  OK(PMIx_Group_destruct("group", NULL, 0));
  OK(OUTCOME(
      PMIx_Group_construct_nb("group", &all, 1, NULL, 0, on_info, &waiter)));
  OK(OUTCOME(PMIx_Group_destruct_nb("group", NULL, 0, on_op, &waiter)));
  OK(PMIx_Group_construct("left", &all, 1, NULL, 0, &results, &count));
  OK(PMIx_Group_leave("left", NULL, 0));
  OK(PMIx_Group_construct("gone", &all, 1, NULL, 0, &results, &count));
  OK(OUTCOME(PMIx_Group_leave_nb("gone", NULL, 0, on_op, &waiter)));
}

/* Invitations and joins use events between processes, so no reply of the agent
 * is needed. An invitation of no process and a declined invitation complete at
 * once. */
static void inviting(void) {
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_info_t patience;
  uint32_t seconds = 1;
  PMIX_INFO_LOAD(&patience, PMIX_TIMEOUT, &seconds, PMIX_UINT32);
  (void)PMIx_Group_join("group", &me, PMIX_GROUP_DECLINE, &patience, 1,
                        &results, &count);
  (void)OUTCOME(PMIx_Group_join_nb("group", &me, PMIX_GROUP_DECLINE, &patience,
                                   1, on_info, &waiter));
  (void)PMIx_Group_invite("group", &me, 0, &patience, 1, &results, &count);
  (void)OUTCOME(
      PMIx_Group_invite_nb("group", &me, 0, &patience, 1, on_info, &waiter));
}

static void fabrics(void) {
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  /* Libraries answer these calls themselves if they know no fabric. */
  (void)PMIx_Fabric_register(&fabric, NULL, 0);
  (void)PMIx_Fabric_update(&fabric);
  (void)PMIx_Fabric_deregister(&fabric);
  (void)OUTCOME(PMIx_Fabric_register_nb(&fabric, NULL, 0, on_op, &waiter));
  (void)OUTCOME(PMIx_Fabric_update_nb(&fabric, on_op, &waiter));
  (void)OUTCOME(PMIx_Fabric_deregister_nb(&fabric, on_op, &waiter));
}

static void others(void) {
  pmix_value_t *value = NULL;
  pmix_value_t number;
  uint64_t stored = 5;
  OK(OUTCOME(PMIx_Get_nb(&me, PMIX_HOSTNAME, NULL, 0, on_value, &waiter)));
  OK(OUTCOME(PMIx_Fence_nb(NULL, 0, NULL, 0, on_op, &waiter)));
  PMIX_VALUE_LOAD(&number, &stored, PMIX_UINT64);
  OK(PMIx_Store_internal(&me, "stored", &number));
  OK(PMIx_Get(&me, "stored", NULL, 0, &value));
  EXPECT(1, PMIx_Initialized());
}

int main(int argc, char **argv) {
  begin(argc, argv);
  publishing();
  spawning();
  connecting();
  asking();
  table();
  logging();
  allocating();
  controlling();
  monitoring();
  proving();
  grouping();
  inviting();
  fabrics();
  others();
  fence(0);
  return end("api");
}
