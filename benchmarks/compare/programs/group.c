/* group COUNT: all processes construct and destruct a group, COUNT times.
 * Reports the medians in microseconds of a construct, of a destruct, and of a
 * fence of the same processes in between, as rank 0 measures them. */
#include <pmix.h>

#include "measure.h"

static pmix_proc_t everyone;

static void Fence(void) {
  Require(PMIx_Fence(&everyone, 1, NULL, 0), "PMIx_Fence");
}

static void NameOf(int i, char *name, size_t size) {
  snprintf(name, size, "bench.%d", i);
}

static double Since(double start) { return NowUs() - start; }

/* The last participant leaves a fence at once. A fence before the measured
 * fence lets all participants begin at the same time. */
static double TimeFence(int i) {
  (void)i;
  Fence();
  const double start = NowUs();
  Fence();
  return Since(start);
}

static double TimeConstruct(int i) {
  char name[32];
  pmix_info_t *results = NULL;
  size_t count = 0;
  NameOf(i, name, sizeof name);
  Fence();
  const double start = NowUs();
  Require(PMIx_Group_construct(name, &everyone, 1, NULL, 0, &results, &count),
          "PMIx_Group_construct");
  const double took = Since(start);
  if (results != NULL) PMIX_INFO_FREE(results, count);
  return took;
}

static double TimeDestruct(int i) {
  char name[32];
  NameOf(i, name, sizeof name);
  Fence();
  const double start = NowUs();
  Require(PMIx_Group_destruct(name, NULL, 0), "PMIx_Group_destruct");
  return Since(start);
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 50;
  pmix_proc_t me;
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  PMIX_PROC_LOAD(&everyone, me.nspace, PMIX_RANK_WILDCARD);
  if (me.rank != 0) (void)!freopen("/dev/null", "w", stdout);
  Measure(TimeFence, count, "fence_us");
  Measure(TimeConstruct, count, "construct_us");
  Measure(TimeDestruct, count, "destruct_us");
  return PMIx_Finalize(NULL, 0);
}
