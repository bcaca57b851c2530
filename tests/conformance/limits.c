// A value that is too large for any message is rejected and does no harm: the
// process that put it and the others continue.
#include "check.h"

static void TooLarge(void) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.size = ((size_t)256 << 20) + 1;
  value.data.bo.bytes = calloc(1, value.data.bo.size);
  CHECK(value.data.bo.bytes != NULL, "no memory");
  pmix_status_t status = PMIx_Put(PMIX_GLOBAL, "huge", &value);
  if (status == PMIX_SUCCESS) status = PMIx_Commit();
  CHECK(status == PMIX_ERR_OUT_OF_RESOURCE || status == PMIX_ERR_BAD_PARAM,
        "256 MiB: %s", PMIx_Error_string(status));
  free(value.data.bo.bytes);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  if (g_self.rank == 0) TooLarge();
  PutU32(PMIX_GLOBAL, "number", g_self.rank);
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    CHECK(MustGetNumber(&peer, "number", NULL, PMIX_UINT32) == rank,
          "number of rank %u", rank);
  }
  const pmix_proc_t first = ProcOf(0);
  if (g_self.rank > 0) MustFail(PMIX_ERR_NOT_FOUND, &first, "huge", NULL);
  return Finish();
}
