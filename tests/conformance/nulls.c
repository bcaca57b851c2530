// Arguments that may be NULL: processes, keys, arrays without elements,
// results, and callbacks. Non-blocking calls without a callback have their
// effect nevertheless.
#include "children.h"

static void OnNothing(size_t id, pmix_status_t status,
                      const pmix_proc_t *source, pmix_info_t info[],
                      size_t ninfo, pmix_info_t results[], size_t nresults,
                      pmix_event_notification_cbfunc_fn_t cbfunc,
                      void *cbdata) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void InitAndData(void) {
  OK(PMIx_Init(NULL, NULL, 0));
  OK(PMIx_Finalize(NULL, 0));
  pmix_value_t *value = NULL;
  OK(PMIx_Get(NULL, PMIX_PROCID, NULL, 0, &value));
  CHECK(
      value->type == PMIX_PROC && PMIX_CHECK_PROCID(value->data.proc, &g_self),
      "another process");
  PMIX_VALUE_RELEASE(value);
  pmix_value_t own;
  own.type = PMIX_UINT32;
  own.data.uint32 = 17;
  OK(PMIx_Store_internal(NULL, "nulls.own", &own));
  CHECK(MustGetNumber(&g_self, "nulls.own", NULL, PMIX_UINT32) == 17,
        "another number");
}

static void Names(void) {
  pmix_proc_t *procs = NULL;
  size_t nprocs = 0;
  OK(PMIx_Resolve_peers(NULL, g_self.nspace, &procs, &nprocs));
  CHECK(nprocs > 0, "nobody on this node");
  PMIX_PROC_FREE(procs, nprocs);
  OK(PMIx_Resolve_peers(NULL, NULL, &procs, &nprocs));
  CHECK(nprocs > 0, "nobody on this node");
  PMIX_PROC_FREE(procs, nprocs);
  char *nodes = NULL;
  OK(PMIx_Resolve_nodes(NULL, &nodes));
  CHECK(nodes != NULL && *nodes != '\0', "no nodes");
  free(nodes);
}

static void Events(void) {
  const pmix_status_t handler =
      PMIx_Register_event_handler(NULL, 0, NULL, 0, OnNothing, NULL, NULL);
  CHECK(handler >= 0, "%s", PMIx_Error_string(handler));
  OK(PMIx_Notify_event(PMIX_EXTERNAL_ERR_BASE - 1, NULL, PMIX_RANGE_PROC_LOCAL,
                       NULL, 0, NULL, NULL));
  ANSWERS(PMIX_SUCCESS, PMIx_Notify_event, PMIX_EXTERNAL_ERR_BASE - 1, NULL,
          PMIX_RANGE_PROC_LOCAL, NULL, 0, OnOperation);
  OK(PMIx_Deregister_event_handler((size_t)handler, NULL, NULL));
}

// Each rank publishes, looks up and unpublishes a key of its own.
static void Publishing(void) {
  Directives data = {.count = 0};
  pmix_pdata_t found;
  PMIX_PDATA_CONSTRUCT(&found);
  snprintf(found.key, sizeof(found.key), "nulls.%u", g_self.rank);
  AddU32(&data, found.key, g_self.rank);
  OK(PMIx_Publish_nb(data.info, data.count, NULL, NULL));
  Directives wait = Timeout(60);
  AddInt(&wait, PMIX_WAIT, 0);
  OK(PMIx_Lookup(&found, 1, wait.info, wait.count));
  CHECK(found.value.data.uint32 == g_self.rank, "of another rank");
  PMIX_PDATA_DESTRUCT(&found);
  char *keys[] = {found.key, NULL};
  OK(PMIx_Lookup_nb(keys, NULL, 0, NULL, NULL));
  OK(PMIx_Unpublish_nb(NULL, NULL, 0, NULL, NULL));
  snprintf(found.key, sizeof(found.key), "nulls.%u", g_self.rank);
  // The requests of one process are executed in order.
  EXPECT(PMIX_ERR_NOT_FOUND, PMIx_Lookup(&found, 1, NULL, 0));
  OK(PMIx_Unpublish(NULL, NULL, 0));
}

static void Collectives(void) {
  OK(PMIx_Fence_nb(NULL, 0, NULL, 0, NULL, NULL));
  Barrier();
  OK(PMIx_Connect_nb(&g_job, 1, NULL, 0, NULL, NULL));
  Barrier();
  // The call is repeated until the set is connected.
  pmix_status_t status;
  do {
    status = PMIx_Disconnect(&g_job, 1, NULL, 0);
  } while (status == PMIX_ERR_INVALID_OPERATION);
  OK(status);
  OK(PMIx_Connect(&g_job, 1, NULL, 0));
  OK(PMIx_Disconnect_nb(&g_job, 1, NULL, 0, NULL, NULL));
  Barrier();
}

static void Groups(void) {
  OK(PMIx_Group_construct("nulls", &g_job, 1, NULL, 0, NULL, NULL));
  OK(PMIx_Group_destruct("nulls", NULL, 0));
  OK(PMIx_Group_construct_nb("nulls", &g_job, 1, NULL, 0, NULL, NULL));
  Barrier();
  // The call is repeated until this process is a member.
  pmix_status_t status;
  do {
    status = PMIx_Group_leave("nulls", NULL, 0);
  } while (status == PMIX_ERR_NOT_FOUND);
  OK(status);
  Barrier();
  OK(PMIx_Group_construct("more", &g_job, 1, NULL, 0, NULL, NULL));
  OK(PMIx_Group_destruct_nb("more", NULL, 0, NULL, NULL));
  Barrier();
  OK(PMIx_Group_construct("last", &g_job, 1, NULL, 0, NULL, NULL));
  OK(PMIx_Group_leave_nb("last", NULL, 0, NULL, NULL));
  Barrier();
}

static void Spawns(void) {
  static char path[] = "/bin/true";
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = path;
  app.maxprocs = 1;
  OK(PMIx_Spawn(NULL, 0, &app, 1, NULL));
  OK(PMIx_Spawn_nb(NULL, 0, &app, 1, NULL, NULL));
}

static void CallsOfTheHost(void) {
  char *keys[] = {PMIX_QUERY_NAMESPACES, NULL};
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  OK(PMIx_Query_info_nb(&query, 1, NULL, NULL));
  Directives text = {.count = 0};
  AddText(&text, PMIX_LOG_STDERR, "");
  OK(PMIx_Log(text.info, text.count, NULL, 0));
  OK(PMIx_Log_nb(text.info, text.count, NULL, 0, NULL, NULL));
  const Directives unknown = Flag("canopy.test.unknown");
  OK(PMIx_Job_control_nb(NULL, 0, unknown.info, unknown.count, NULL, NULL));
  OK(PMIx_Process_monitor_nb(unknown.info, PMIX_ERROR, NULL, 0, NULL, NULL));
  OK(PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, NULL, 0, NULL, NULL));
  OK(PMIx_Get_credential_nb(NULL, 0, NULL, NULL));
  pmix_byte_object_t credential;
  PMIX_BYTE_OBJECT_CONSTRUCT(&credential);
  OK(PMIx_Get_credential(NULL, 0, &credential));
  OK(PMIx_Validate_credential_nb(&credential, NULL, 0, NULL, NULL));
  PMIX_BYTE_OBJECT_DESTRUCT(&credential);
}

static void Hardware(void) {
  pmix_device_distance_t *distances = NULL;
  size_t count = 0;
  const pmix_status_t status =
      PMIx_Compute_distances(NULL, NULL, NULL, 0, &distances, &count);
  CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_SUPPORTED, "%s",
        PMIx_Error_string(status));
  if (count > 0) PMIX_DEVICE_DIST_FREE(distances, count);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  InitAndData();
  Names();
  Events();
  Publishing();
  Collectives();
  Groups();
  Spawns();
  CallsOfTheHost();
  Hardware();
  Barrier();
  return Finish();
}
