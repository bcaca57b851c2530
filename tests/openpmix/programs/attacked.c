/* While the job runs, every rank runs the command in argument 2, which may
 * connect as the rank and misbehave. The job must not be affected. */
#include "check.h"

int main(int argc, char **argv) {
  begin(argc, argv);
  put_u64("before", me.rank);
  OK(PMIx_Commit());
  fence(1);
  if (argc > 2) EXPECT(0, system(argv[2]));
  put_u64("after", me.rank + 1);
  OK(PMIx_Commit());
  fence(1);
  for (uint32_t r = 0; r < job_size; ++r) {
    expect_u64(r, "before", r);
    expect_u64(r, "after", r + 1);
  }
  fence(0);
  return end("attacked");
}
