/* query COUNT: rank 0 queries one key that its agent knows, and the table of
 * all processes, COUNT times each. Reports medians in microseconds. Each result
 * is new and not from the library's cache. */
#include <pmix.h>

#include "measure.h"

static double Ask(char *key) {
  char *keys[] = {key, NULL};
  pmix_query_t query;
  pmix_info_t fresh;
  pmix_info_t *results = NULL;
  size_t count = 0;
  bool yes = true;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_INFO_LOAD(&fresh, PMIX_QUERY_REFRESH_CACHE, &yes, PMIX_BOOL);
  query.keys = keys;
  query.qualifiers = &fresh;
  query.nqual = 1;
  const double start = NowUs();
  Require(PMIx_Query_info(&query, 1, &results, &count), "PMIx_Query_info");
  const double end = NowUs();
  PMIX_INFO_FREE(results, count);
  return end - start;
}

static double AskForOneKey(int i) {
  (void)i;
  return Ask(PMIX_QUERY_NAMESPACES);
}

static double AskForTable(int i) {
  (void)i;
  return Ask(PMIX_QUERY_PROC_TABLE);
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 100;
  pmix_proc_t me;
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  if (me.rank == 0) {
    Measure(AskForOneKey, count, "query_us");
    Measure(AskForTable, count, "table_us");
  }
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  return PMIx_Finalize(NULL, 0);
}
