// What is not there says so: at once, without a callback, and without harm.
#include <pmix_tool.h>

#include "check.h"

static Signal g_called = SIGNAL_INIT;

static void OnOp(pmix_status_t status, void *cbdata) {
  RaiseOp(status, cbdata);
}

static void OnInfo(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                   void *cbdata, pmix_release_cbfunc_t release,
                   void *release_cbdata) {
  (void)info, (void)ninfo;
  if (release != NULL) release(release_cbdata);
  Raise(cbdata, status);
}

#define REFUSED(call) EXPECT(PMIX_ERR_NOT_SUPPORTED, call)

static void Managed(void) {
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  Directives with = {.count = 0};
  AddU32(&with, PMIX_ALLOC_NUM_NODES, 1);
  REFUSED(PMIx_Allocation_request(PMIX_ALLOC_NEW, with.info, 1, &results,
                                  &nresults));
  REFUSED(PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, with.info, 1, OnInfo,
                                     &g_called));
  const Directives beat = Flag(PMIX_MONITOR_HEARTBEAT);
  REFUSED(PMIx_Process_monitor(beat.info, PMIX_MONITOR_HEARTBEAT_ALERT, NULL, 0,
                               &results, &nresults));
  REFUSED(PMIx_Process_monitor_nb(beat.info, PMIX_MONITOR_HEARTBEAT_ALERT, NULL,
                                  0, OnInfo, &g_called));
  Directives text = {.count = 0};
  AddText(&text, PMIX_LOG_STDERR, "must not be seen\n");
  REFUSED(PMIx_Log(text.info, 1, NULL, 0));
  REFUSED(PMIx_Log_nb(text.info, 1, NULL, 0, OnOp, &g_called));
}

static void OnCredential(pmix_status_t status, pmix_byte_object_t *credential,
                         pmix_info_t info[], size_t ninfo, void *cbdata) {
  (void)credential, (void)info, (void)ninfo;
  Raise(cbdata, status);
}

static void OnValidated(pmix_status_t status, pmix_info_t info[], size_t ninfo,
                        void *cbdata) {
  (void)info, (void)ninfo;
  Raise(cbdata, status);
}

static void Credentials(void) {
  pmix_byte_object_t credential = {NULL, 0};
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  REFUSED(PMIx_Get_credential(NULL, 0, &credential));
  REFUSED(PMIx_Get_credential_nb(NULL, 0, OnCredential, &g_called));
  REFUSED(PMIx_Validate_credential(&credential, NULL, 0, &results, &nresults));
  REFUSED(PMIx_Validate_credential_nb(&credential, NULL, 0, OnValidated,
                                      &g_called));
}

static void Groups(void) {
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  REFUSED(PMIx_Group_invite("group", &g_job, 1, NULL, 0, &results, &nresults));
  REFUSED(PMIx_Group_join("group", &g_self, PMIX_GROUP_ACCEPT, NULL, 0,
                          &results, &nresults));
}

static void Fabrics(void) {
  pmix_fabric_t fabric;
  PMIX_FABRIC_CONSTRUCT(&fabric);
  REFUSED(PMIx_Fabric_register(&fabric, NULL, 0));
  REFUSED(PMIx_Fabric_register_nb(&fabric, NULL, 0, OnOp, &g_called));
  REFUSED(PMIx_Fabric_update(&fabric));
  REFUSED(PMIx_Fabric_deregister(&fabric));
}

static void OnOutput(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source,
                     pmix_byte_object_t *payload, pmix_info_t info[],
                     size_t ninfo) {
  (void)id, (void)channel, (void)source, (void)payload, (void)info, (void)ninfo;
  Raise(&g_called, PMIX_SUCCESS);
}

static void Tools(void) {
  pmix_byte_object_t bytes = {"text", 4};
  REFUSED(PMIx_IOF_pull(&g_job, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, OnOutput,
                        NULL, NULL));
  REFUSED(PMIx_IOF_push(&g_job, 1, &bytes, NULL, 0, OnOp, &g_called));
  REFUSED(PMIx_IOF_deregister(0, NULL, 0, OnOp, &g_called));
  REFUSED(PMIx_tool_attach_to_server(NULL, NULL, NULL, 0));
  REFUSED(PMIx_tool_finalize());
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Managed();
  Credentials();
  Groups();
  Fabrics();
  Tools();
  PMIx_Heartbeat();
  // All is well afterwards.
  PutU32(PMIX_GLOBAL, "still", g_self.rank);
  OK(PMIx_Commit());
  FenceCollect();
  const pmix_proc_t next = ProcOf((g_self.rank + 1) % g_size);
  CHECK(MustGetNumber(&next, "still", NULL, PMIX_UINT32) == next.rank,
        "another value");
  CHECK(CountOf(&g_called) == 0, "%d callbacks of calls that were refused",
        CountOf(&g_called));
  return Finish();
}
