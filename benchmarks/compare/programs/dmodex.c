/* dmodex COUNT: measures the time of a PMIx_Get at rank 0, in microseconds. A
 * rank on another node has just committed the data, which no fence has
 * collected. Run it with one rank for each node. */
#include <pmix.h>
#include <string.h>

#include "measure.h"

static void PutOne(int i) {
  char key[32];
  char bytes[64] = "card";
  pmix_value_t value;
  snprintf(key, sizeof key, "bench.%d", i);
  memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = bytes;
  value.data.bo.size = sizeof bytes;
  Require(PMIx_Put(PMIX_REMOTE, key, &value), "PMIx_Put");
  Require(PMIx_Commit(), "PMIx_Commit");
}

static double GetOne(const pmix_proc_t *peer, int i) {
  char key[32];
  pmix_value_t *value = NULL;
  snprintf(key, sizeof key, "bench.%d", i);
  const double start = NowUs();
  Require(PMIx_Get(peer, key, NULL, 0, &value), "PMIx_Get");
  const double end = NowUs();
  PMIX_VALUE_RELEASE(value);
  return end - start;
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 50;
  double *times = calloc((size_t)count, sizeof *times);
  pmix_proc_t me;
  pmix_proc_t peer;
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  PMIX_LOAD_PROCID(&peer, me.nspace, 1);
  for (int i = 0; i < count; ++i) {
    PutOne(i);
    Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
    if (me.rank == 0) times[i] = GetOne(&peer, i);
    Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  }
  if (me.rank == 0) {
    Report("median_us", Quantile(times, (size_t)count, 0.5));
    Report("p10_us", Quantile(times, (size_t)count, 0.1));
  }
  free(times);
  return PMIx_Finalize(NULL, 0);
}
