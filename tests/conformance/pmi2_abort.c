// PMI2_Abort with the flag: the last rank ends the whole job, including itself.
#include <pmi2.h>

#include "pmi_codes.h"

int main(int argc, char **argv) {
  Arm(argc, argv);
  int spawned = 0, size = 0, rank = 0, appnum = 0;
  char value[PMI2_MAX_VALLEN];
  int length = 0;
  CODE(PMI2_SUCCESS, PMI2_Init(&spawned, &size, &rank, &appnum));
  g_self.rank = (pmix_rank_t)rank;
  CODE(PMI2_SUCCESS, PMI2_KVS_Put("came", "1"));
  CODE(PMI2_SUCCESS, PMI2_KVS_Fence());
  CODE(PMI2_SUCCESS,
       PMI2_KVS_Get(NULL, PMI2_ID_NULL, "came", value, sizeof(value), &length));
  if (g_self.rank == g_size - 1) {
    PMI2_Abort(1, "told by the test");
    CHECK(false, "PMI2_Abort has returned");
  }
  for (;;) pause();
}
