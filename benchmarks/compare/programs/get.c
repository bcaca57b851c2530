/* get: measures, in nanoseconds, the time of PMIx_Get at rank 0 while the other
 * ranks wait. */
#include <pmix.h>
#include <string.h>

#include "measure.h"

enum { kLoop = 2000, kRounds = 15, kValueBytes = 1024 };

static void Put(const char *key, size_t size) {
  static char bytes[kValueBytes];
  pmix_value_t value;
  memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = bytes;
  value.data.bo.size = size;
  Require(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
}

static void Collect(void) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
  Require(PMIx_Fence(NULL, 0, &info, 1), "PMIx_Fence");
  PMIX_INFO_DESTRUCT(&info);
}

static void Get(const pmix_proc_t *proc, const char *key,
                const pmix_info_t *info, size_t ninfo, int expected) {
  pmix_value_t *value = NULL;
  const int rc = PMIx_Get(proc, key, info, ninfo, &value);
  if (rc != expected) {
    fprintf(stderr, "PMIx_Get of %s: %d\n", key, rc);
    exit(1);
  }
  if (value != NULL) PMIX_VALUE_RELEASE(value);
}

static void Loop(const char *name, const pmix_proc_t *proc, const char *key,
                 const pmix_info_t *info, size_t ninfo, int expected) {
  double rounds[kRounds];
  for (int r = 0; r < kRounds; ++r) {
    const double start = NowUs();
    for (int i = 0; i < kLoop; ++i) Get(proc, key, info, ninfo, expected);
    rounds[r] = (NowUs() - start) * 1e3 / kLoop;
  }
  Report(name, Quantile(rounds, kRounds, 0.25));
}

static void FirstTouch(const pmix_proc_t *me, uint32_t size) {
  double *times = calloc(size, sizeof *times);
  pmix_proc_t peer = *me;
  size_t count = 0;
  for (peer.rank = 0; peer.rank < size; ++peer.rank) {
    if (peer.rank == me->rank) continue;
    const double start = NowUs();
    Get(&peer, "bench.large", NULL, 0, PMIX_SUCCESS);
    times[count++] = (NowUs() - start) * 1e3;
  }
  Report("first_touch_ns", Quantile(times, count, 0.5));
  free(times);
}

int main(void) {
  pmix_proc_t me;
  pmix_proc_t all;
  pmix_proc_t peer;
  pmix_value_t *value = NULL;
  pmix_info_t optional;
  uint32_t size;
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
  Require(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "job size");
  size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  Put("bench.large", kValueBytes);
  Put("bench.small", 16);
  Require(PMIx_Commit(), "PMIx_Commit");
  Collect();
  if (me.rank == 0) {
    PMIX_LOAD_PROCID(&peer, me.nspace, size - 1);
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    FirstTouch(&me, size);
    Loop("job_key_ns", &all, PMIX_JOB_SIZE, NULL, 0, PMIX_SUCCESS);
    Loop("peer_key_ns", &peer, "bench.small", NULL, 0, PMIX_SUCCESS);
    Loop("absent_ns", &peer, "bench.absent", &optional, 1, PMIX_ERR_NOT_FOUND);
  }
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  return PMIx_Finalize(NULL, 0);
}
