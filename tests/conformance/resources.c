// PMIx_Allocation_request, PMIx_Session_control and PMIx_Resource_block with
// their non-blocking forms: a scheduler decides these, and this host has none.
// JOB-01 and JOB-03 to JOB-05 concern a scheduler; JOB-02 is in
// server/core/host/host_calls_test.cc.
#include "nonblocking.h"

static void OnInfo(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                   void *call, pmix_release_cbfunc_t release,
                   void *release_data) {
  (void)info, (void)ninfo;
  if (release != NULL) release(release_data);
  Answered(call, status);
}

static const char *const kTexts[] = {
    PMIX_ALLOC_REQ_ID,         PMIX_ALLOC_NODE_LIST,   PMIX_ALLOC_NUM_CPU_LIST,
    PMIX_ALLOC_CPU_LIST,       PMIX_ALLOC_FABRIC,      PMIX_ALLOC_FABRIC_ID,
    PMIX_ALLOC_FABRIC_QOS,     PMIX_ALLOC_FABRIC_TYPE, PMIX_ALLOC_FABRIC_PLANE,
    PMIX_ALLOC_FABRIC_SEC_KEY,
};
static const char *const kNumbers[] = {
    PMIX_ALLOC_NUM_NODES,
    PMIX_ALLOC_NUM_CPUS,
    PMIX_ALLOC_TIME,
    PMIX_ALLOC_MEM_SIZE,
    PMIX_ALLOC_BANDWIDTH,
    PMIX_ALLOC_FABRIC_ENDPTS,
    PMIX_ALLOC_FABRIC_ENDPTS_NODE,
};

static void Allocate(const char *key, bool text) {
  static const pmix_alloc_directive_t kAll[] = {
      PMIX_ALLOC_NEW, PMIX_ALLOC_EXTEND, PMIX_ALLOC_RELEASE,
      PMIX_ALLOC_REAQUIRE};
  for (size_t i = 0; i < sizeof(kAll) / sizeof(*kAll); ++i) {
    Directives with = {.count = 0};
    if (text) {
      AddText(&with, key, "x");
    } else {
      AddU32(&with, key, 1);
    }
    pmix_info_t *results = NULL;
    size_t nresults = 7;
    EXPECT(PMIX_ERR_NOT_SUPPORTED,
           PMIx_Allocation_request(kAll[i], with.info, with.count, &results,
                                   &nresults));
    CHECK(results == NULL && nresults == 0, "%s: %zu results", key, nresults);
    ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Allocation_request_nb, kAll[i],
            with.info, with.count, OnInfo);
  }
}

static void Malformed(void) {
  Directives with = {.count = 0};
  AddU32(&with, PMIX_ALLOC_NUM_NODES, 1);
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Allocation_request(0, with.info, with.count, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Allocation_request(PMIX_ALLOC_NEW, NULL, 1, NULL, NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Allocation_request_nb, 0, with.info,
          with.count, OnInfo);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Allocation_request_nb, PMIX_ALLOC_NEW, NULL,
          1, OnInfo);
}

// Headers of other libraries lack these names.
#ifdef PMIX_RESOURCE_BLOCK_NAME
static void Newer(void) {
  const Directives with = Flag(PMIX_ALLOC_SHARE);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Session_control(1, with.info, with.count, NULL, NULL));
  ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Session_control, 1, with.info,
          with.count, OnInfo);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Session_control(1, NULL, 0, NULL, NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Session_control, 1, NULL, 2, OnInfo);
  char name[] = "block";
  pmix_resource_unit_t unit;
  PMIx_Resource_unit_construct(&unit);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Resource_block(1, name, &unit, 1, with.info, with.count));
  ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Resource_block_nb, 1, name, &unit, 1,
          with.info, with.count, OnOperation);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Resource_block(1, NULL, &unit, 1, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Resource_block(1, name, NULL, 1, NULL, 0));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Resource_block_nb, 1, NULL, &unit, 1, NULL,
          0, OnOperation);
}

static void NewerNotInitialized(void) {
  const Directives with = Flag(PMIX_ALLOC_SHARE);
  char name[] = "block";
  EXPECT(PMIX_ERR_INIT,
         PMIx_Session_control(1, with.info, with.count, NULL, NULL));
  EXPECT(PMIX_ERR_INIT, PMIx_Resource_block(1, name, NULL, 0, NULL, 0));
  REFUSES(PMIX_ERR_INIT, PMIx_Resource_block_nb, 1, name, NULL, 0, NULL, 0,
          OnOperation);
}
#else
static void Newer(void) {}
static void NewerNotInitialized(void) {}
#endif

static void NotInitialized(void) {
  Directives with = {.count = 0};
  AddU32(&with, PMIX_ALLOC_NUM_NODES, 1);
  EXPECT(PMIX_ERR_INIT, PMIx_Allocation_request(PMIX_ALLOC_NEW, with.info,
                                                with.count, NULL, NULL));
  REFUSES(PMIX_ERR_INIT, PMIx_Allocation_request_nb, PMIX_ALLOC_NEW, with.info,
          with.count, OnInfo);
  NewerNotInitialized();
}

int main(int argc, char **argv) {
  NotInitialized();
  Start(argc, argv);
  for (size_t i = 0; i < sizeof(kTexts) / sizeof(*kTexts); ++i) {
    Allocate(kTexts[i], true);
  }
  for (size_t i = 0; i < sizeof(kNumbers) / sizeof(*kNumbers); ++i) {
    Allocate(kNumbers[i], false);
  }
  Malformed();
  Newer();
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
