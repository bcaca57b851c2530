/* publish COUNT: rank 0 publishes COUNT values of 64 bytes and looks up each.
 * Then the last rank looks up each. Reports medians in microseconds. With one
 * rank on each node, the last rank measures lookups from another node. */
#include <pmix.h>
#include <string.h>

#include "measure.h"

static void Name(char *key, int i) { sprintf(key, "bench.service.%d", i); }

static double PublishOne(int i) {
  char key[64];
  pmix_info_t info;
  static const char text[] =
      "port of a service, sixty-three characters long, so with its end";
  Name(key, i);
  PMIX_INFO_LOAD(&info, key, text, PMIX_STRING);
  const double start = NowUs();
  Require(PMIx_Publish(&info, 1), "PMIx_Publish");
  const double end = NowUs();
  PMIX_INFO_DESTRUCT(&info);
  return end - start;
}

static double LookUpOne(int i) {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  Name(data.key, i);
  const double start = NowUs();
  Require(PMIx_Lookup(&data, 1, NULL, 0), "PMIx_Lookup");
  const double end = NowUs();
  PMIX_PDATA_DESTRUCT(&data);
  return end - start;
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 100;
  pmix_proc_t me;
  pmix_proc_t all;
  pmix_value_t *size = NULL;
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
  Require(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size), "PMIx_Get");
  const uint32_t last = size->data.uint32 - 1;
  PMIX_VALUE_RELEASE(size);
  if (me.rank == 0) {
    Measure(PublishOne, count, "publish_us");
    Measure(LookUpOne, count, "lookup_us");
  }
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  if (me.rank == last) Measure(LookUpOne, count, "last_lookup_us");
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  return PMIx_Finalize(NULL, 0);
}
