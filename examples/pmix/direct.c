/* Exchanges data without a fence: a Get waits until its key is posted on any
 * node. Each rank answers its predecessor, so the data goes once around the
 * job. */
#include <unistd.h>

#include "check.h"

int main(int argc, char **argv) {
  begin(argc, argv);
  pmix_rank_t left = (self.rank + job_size - 1) % job_size;
  uint64_t number = 0;
  if (self.rank != 0) {
    CHECK_OK(get_put(left, "example.token", NULL, 0, &number));
    CHECK(number == left);
  }
  put_number(PMIX_GLOBAL, "example.token", self.rank);
  CHECK_OK(PMIx_Commit());
  if (self.rank == 0 && job_size > 1) {
    CHECK_OK(get_put(left, "example.token", NULL, 0, &number));
    CHECK(number == left);
  }

  /* A key that is never posted is reported missing at once, or after the
   * timeout. */
  bool flag = true;
  int seconds = 1;
  pmix_info_t info;
  if (job_size > 1) {
    PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &flag, PMIX_BOOL);
    CHECK_STATUS(get_put(left, "example.never", &info, 1, &number),
                 PMIX_ERR_NOT_FOUND);
    PMIX_INFO_DESTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
    CHECK_STATUS(get_put(left, "example.never", &info, 1, &number),
                 PMIX_ERR_TIMEOUT);
    PMIX_INFO_DESTRUCT(&info);
  }
  PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &flag, PMIX_BOOL);
  CHECK_STATUS(get_put(left, "example.never", &info, 1, &number),
               PMIX_ERR_NOT_FOUND);
  PMIX_INFO_DESTRUCT(&info);
  return end("direct");
}
