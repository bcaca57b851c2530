/* Prints where this process is bound, and what it shares with the others on its
 * node. */
#include "check.h"

int main(int argc, char **argv) {
  begin(argc, argv);
  pmix_cpuset_t cpuset;
  PMIX_CPUSET_CONSTRUCT(&cpuset);
  CHECK_OK(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS));
  PMIX_CPUSET_DESTRUCT(&cpuset);

  pmix_value_t *value = NULL;
  CHECK_OK(PMIx_Get(&self, PMIX_LOCALITY_STRING, NULL, 0, &value));
  CHECK(value->type == PMIX_STRING);
  char *mine = strdup(value->data.string);
  PMIX_VALUE_RELEASE(value);
  uint32_t node = get_number(self.rank, PMIX_NODEID);
  for (pmix_rank_t rank = 0; rank < job_size; ++rank) {
    pmix_proc_t proc = peer(rank);
    const bool near = get_number(rank, PMIX_NODEID) == node;
    CHECK_STATUS(PMIx_Get(&proc, PMIX_LOCALITY_STRING, NULL, 0, &value),
                 near ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    if (!near) continue;
    pmix_locality_t shared = 0;
    CHECK_OK(PMIx_Get_relative_locality(mine, value->data.string, &shared));
    CHECK(shared & PMIX_LOCALITY_SHARE_NODE);
    PMIX_VALUE_RELEASE(value);
  }
  free(mine);
  return end("topology");
}
