/* ask QUERIES SPAWNS: one process measures queries that only a scheduler can
 * answer, and spawns of one process that ends at once. Prints a line "CB
 * query_us VALUE" for each query, and "CB spawn_us VALUE" for each spawn. */
#include <pmix.h>
#include <unistd.h>

#include "../compare/programs/measure.h"

enum { kPauseUs = 30000 };

static char *keys[] = {PMIX_QUERY_QUEUE_LIST, NULL};

static double QueryOnce(void) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t num_results = 0;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  const double start = NowUs();
  const pmix_status_t status =
      PMIx_Query_info(&query, 1, &results, &num_results);
  const double took = NowUs() - start;
  if (status != PMIX_ERR_NOT_FOUND) Require(status, "PMIx_Query_info");
  PMIX_INFO_FREE(results, num_results);
  return took;
}

static double SpawnOnce(void) {
  pmix_app_t app;
  pmix_nspace_t job;
  char *argv[] = {"/bin/true", NULL};
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = argv[0];
  app.argv = argv;
  app.maxprocs = 1;
  const double start = NowUs();
  Require(PMIx_Spawn(NULL, 0, &app, 1, job), "PMIx_Spawn");
  const double took = NowUs() - start;
  usleep(kPauseUs); /* until the process has ended and its slot is free */
  return took;
}

int main(int argc, char **argv) {
  pmix_proc_t self;
  const int queries = argc > 1 ? atoi(argv[1]) : 100;
  const int spawns = argc > 2 ? atoi(argv[2]) : 10;
  Require(PMIx_Init(&self, NULL, 0), "PMIx_Init");
  for (int i = 0; i < queries; ++i) Report("query_us", QueryOnce());
  for (int i = 0; i < spawns; ++i) Report("spawn_us", SpawnOnce());
  return PMIx_Finalize(NULL, 0);
}
