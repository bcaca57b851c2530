/* Checks which processes see data with local, remote, global and internal
 * scope. */
#include "check.h"

static void check_peer(pmix_rank_t rank, uint32_t my_node) {
  const bool near = get_number(rank, PMIX_NODEID) == my_node;
  const bool me = rank == self.rank;
  uint64_t number = 0;
  CHECK_OK(get_put(rank, "example.global", NULL, 0, &number));
  CHECK(number == rank);
  CHECK_STATUS(get_put(rank, "example.local", NULL, 0, &number),
               near ? PMIX_SUCCESS : PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
  CHECK_STATUS(get_put(rank, "example.remote", NULL, 0, &number),
               me || !near ? PMIX_SUCCESS : PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
  bool flag = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &flag, PMIX_BOOL);
  CHECK_STATUS(get_put(rank, "example.internal", &info, 1, &number),
               me ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
  PMIX_INFO_DESTRUCT(&info);
}

int main(int argc, char **argv) {
  begin(argc, argv);
  put_number(PMIX_GLOBAL, "example.global", self.rank);
  put_number(PMIX_LOCAL, "example.local", self.rank);
  put_number(PMIX_REMOTE, "example.remote", self.rank);
  put_number(PMIX_INTERNAL, "example.internal", self.rank);
  CHECK_OK(PMIx_Commit());
  fence(true);
  uint32_t my_node = get_number(self.rank, PMIX_NODEID);
  for (pmix_rank_t rank = 0; rank < job_size; ++rank) {
    check_peer(rank, my_node);
  }
  return end("scopes");
}
