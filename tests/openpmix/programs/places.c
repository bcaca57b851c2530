/* Every rank finds the place of every rank: its own and, for other ranks on its
 * node, the local data without a request; the rest by requests. The directory
 * that the job's data names as its own must exist. */
#include <sys/stat.h>

#include "check.h"

static void own_directory(void) {
  struct stat info;
  pmix_value_t *name = get(me.rank, PMIX_PROCDIR);
  OK(stat(name->data.string, &info));
  TRUE_(S_ISDIR(info.st_mode) && info.st_uid == geteuid());
  PMIX_VALUE_RELEASE(name);
}

static long number(pmix_rank_t rank, const char *key, int optional) {
  pmix_proc_t proc = rank_of_job(rank);
  pmix_value_t *value = NULL;
  pmix_info_t info;
  long found = -1;
  char what[600];
  PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, NULL, PMIX_BOOL);
  pmix_status_t rc = PMIx_Get(&proc, key, &info, (size_t) optional, &value);
  if (rc != PMIX_SUCCESS) {
    snprintf(what, sizeof what, "get of %s of rank %u", key, rank);
    fail(what, rc, PMIX_SUCCESS);
  }
  if (value->type == PMIX_PROC_RANK) found = value->data.rank;
  if (value->type == PMIX_UINT32) found = value->data.uint32;
  if (value->type == PMIX_UINT16) found = value->data.uint16;
  PMIX_VALUE_RELEASE(value);
  return found;
}

int main(int argc, char **argv) {
  begin(argc, argv);
  pmix_value_t *here = get(me.rank, PMIX_HOSTNAME);
  TRUE_(number(me.rank, PMIX_NODEID, 1) >= 0);
  const long offset = number(PMIX_RANK_WILDCARD, PMIX_NPROC_OFFSET, 0);
  TRUE_(offset >= 0);
  EXPECT(offset + me.rank, number(me.rank, PMIX_GLOBAL_RANK, 1));
  EXPECT(me.rank, number(me.rank, PMIX_APP_RANK, 1));
  TRUE_(number(me.rank, PMIX_NODE_RANK, 1) >= 0);
  for (uint32_t r = 0; r < job_size; ++r) {
    pmix_value_t *host = get(r, PMIX_HOSTNAME);
    if (strcmp(host->data.string, here->data.string) == 0) {
      TRUE_(number(r, PMIX_LOCAL_RANK, 1) >= 0);
    }
    PMIX_VALUE_RELEASE(host);
    EXPECT(offset + r, number(r, PMIX_GLOBAL_RANK, 0));
    EXPECT(0, number(r, PMIX_APPNUM, 0));
    TRUE_(number(r, PMIX_NODE_RANK, 0) >= 0);
  }
  PMIX_VALUE_RELEASE(here);
  own_directory();
  fence(0);
  return end("places");
}
