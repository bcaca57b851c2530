/* All ranks post data, a fence exchanges it, and all ranks read the data of all
 * others. In a second round, new data replaces it. */
#include "check.h"

static uint64_t number_of(pmix_rank_t rank, int round) {
  return 1000u * (uint64_t)round + rank;
}

int main(int argc, char **argv) {
  begin(argc, argv);
  for (int round = 1; round <= 2; ++round) {
    put_number(PMIX_GLOBAL, "example.number", number_of(self.rank, round));
    CHECK_OK(PMIx_Commit());
    fence(true);
    for (pmix_rank_t rank = 0; rank < job_size; ++rank) {
      uint64_t number = 0;
      CHECK_OK(get_put(rank, "example.number", NULL, 0, &number));
      CHECK(number == number_of(rank, round));
    }
    fence(false);
  }
  return end("exchange");
}
