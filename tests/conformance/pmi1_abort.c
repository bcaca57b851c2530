// PMI_Abort: the last rank ends the whole job, including itself.
#include <pmi.h>

#include "pmi_codes.h"

int main(int argc, char **argv) {
  Arm(argc, argv);
  int number = 0;
  CODE(PMI_SUCCESS, PMI_Init(&number));
  CODE(PMI_SUCCESS, PMI_Get_rank(&number));
  g_self.rank = (pmix_rank_t)number;
  CODE(PMI_SUCCESS, PMI_Barrier());
  if (g_self.rank == g_size - 1) {
    PMI_Abort(23, "told by the test");
    CHECK(false, "PMI_Abort has returned");
  }
  for (;;) pause();
}
