/* Fences of parts of the job, each with a list of its members. The parts do not
 * wait for each other. */
#include "check.h"

int main(int argc, char **argv) {
  begin(argc, argv);
  pmix_proc_t *members = NULL;
  size_t count = 0;
  PMIX_PROC_CREATE(members, job_size);
  for (pmix_rank_t rank = self.rank % 2; rank < job_size; rank += 2) {
    members[count++] = peer(rank);
  }
  put_number(PMIX_GLOBAL, "example.number", self.rank);
  CHECK_OK(PMIx_Commit());
  bool collect = true;
  pmix_info_t info[2];
  int seconds = 30;
  PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
  for (int round = 0; round < 10; ++round) {
    CHECK_OK(PMIx_Fence(members, count, info, 2));
  }
  bool flag = true;
  pmix_info_t optional;
  PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &flag, PMIX_BOOL);
  for (size_t i = 0; i < count; ++i) {
    uint64_t number = 0;
    CHECK_OK(get_put(members[i].rank, "example.number", &optional, 1, &number));
    CHECK(number == members[i].rank);
  }
  PMIX_INFO_DESTRUCT(&optional);

  /* A fence in which a participant is missing ends after the timeout. */
  pmix_info_t soon;
  seconds = 1;
  PMIX_INFO_LOAD(&soon, PMIX_TIMEOUT, &seconds, PMIX_INT);
  if (self.rank == 0 && job_size > 1) {
    CHECK_STATUS(PMIx_Fence(NULL, 0, &soon, 1), PMIX_ERR_TIMEOUT);
  }
  PMIX_INFO_DESTRUCT(&soon);
  PMIX_INFO_DESTRUCT(&info[0]);
  PMIX_INFO_DESTRUCT(&info[1]);

  /* A fence of all processes, listed one by one. */
  for (pmix_rank_t rank = 0; rank < job_size; ++rank) {
    members[rank] = peer(rank);
  }
  CHECK_OK(PMIx_Fence(members, job_size, NULL, 0));
  PMIX_PROC_FREE(members, job_size);
  if (self.rank == 0) printf("subset ok size %u\n", job_size);
  CHECK_OK(PMIx_Finalize(NULL, 0));
  return 0;
}
