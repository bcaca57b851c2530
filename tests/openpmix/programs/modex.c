/* Tests job info, fences with data, both forms of get, direct modex, scopes and
 * refresh. */
#include "check.h"

static void check_job_info(void) {
  pmix_value_t *value;
  uint32_t local = get_u32(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
  TRUE_(local >= 1 && local <= job_size);
  TRUE_(get_u32(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE) >= job_size);
  TRUE_(get_u32(PMIX_RANK_WILDCARD, PMIX_MAX_PROCS) >= job_size);
  TRUE_(get_u32(PMIX_RANK_WILDCARD, PMIX_NUM_NODES) >= 1);
  EXPECT(0, get_u32(me.rank, PMIX_APPNUM));
  EXPECT(get(PMIX_RANK_WILDCARD, PMIX_NPROC_OFFSET)->data.rank + me.rank,
         get(me.rank, PMIX_GLOBAL_RANK)->data.rank);
  value = get(me.rank, PMIX_LOCAL_RANK);
  EXPECT(PMIX_UINT16, value->type);
  TRUE_(value->data.uint16 < local);
  value = get(me.rank, PMIX_NODE_RANK);
  EXPECT(PMIX_UINT16, value->type);
  value = get(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS);
  EXPECT(PMIX_STRING, value->type);
  TRUE_(value->data.string[0] != '\0');
  value = get(PMIX_RANK_WILDCARD, PMIX_JOBID);
  EXPECT(0, strcmp(value->data.string, me.nspace));
  value = get(me.rank, PMIX_HOSTNAME);
  for (uint32_t r = 0; r < job_size; ++r) {
    EXPECT(PMIX_STRING, get(r, PMIX_HOSTNAME)->type);
  }
  EXPECT(PMIX_ERR_NOT_FOUND, ({
           pmix_proc_t all = rank_of_job(PMIX_RANK_WILDCARD);
           pmix_value_t *none = NULL;
           PMIx_Get(&all, "pmix.there.is.none", NULL, 0, &none);
         }));
}

static void check_resolve(void) {
  pmix_proc_t *procs = NULL;
  size_t count = 0;
  char *nodes = NULL;
  pmix_value_t *host = get(me.rank, PMIX_HOSTNAME);
  OK(PMIx_Resolve_peers(host->data.string, me.nspace, &procs, &count));
  EXPECT(get_u32(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE), count);
  OK(PMIx_Resolve_nodes(me.nspace, &nodes));
  TRUE_(strstr(nodes, host->data.string) != NULL);
}

static void check_scopes(void) {
  pmix_value_t value;
  uint32_t number = me.rank;
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
  OK(PMIx_Put(PMIX_LOCAL, "near", &value));
  OK(PMIx_Put(PMIX_REMOTE, "far", &value));
  OK(PMIx_Commit());
  fence(1);
  char here[256];
  snprintf(here, sizeof here, "%s", get(me.rank, PMIX_HOSTNAME)->data.string);
  for (uint32_t r = 0; r < job_size; ++r) {
    if (r == me.rank) continue;
    int same = strcmp(here, get(r, PMIX_HOSTNAME)->data.string) == 0;
    pmix_proc_t proc = rank_of_job(r);
    pmix_value_t *found = NULL;
    pmix_info_t info;
    EXPECT(r, get_u32(r, same ? "near" : "far"));
    PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, NULL, PMIX_BOOL);
    TRUE_(PMIx_Get(&proc, same ? "far" : "near", &info, 1, &found) !=
          PMIX_SUCCESS);
  }
}

int main(int argc, char **argv) {
  begin(argc, argv);
  check_job_info();
  check_resolve();
  put_u64("first", 1000 + me.rank);
  OK(PMIx_Commit());
  fence(1);
  for (uint32_t r = 0; r < job_size; ++r) expect_u64(r, "first", 1000 + r);
  /* Without a fence the get waits for the commit. */
  if (me.rank % 2 == 1) usleep(20000);
  put_u64("second", 2000 + me.rank);
  OK(PMIx_Commit());
  for (uint32_t r = 0; r < job_size; ++r) expect_u64(r, "second", 2000 + r);
  fence(0);
  check_scopes();
  fence(0);
  return end("modex");
}
