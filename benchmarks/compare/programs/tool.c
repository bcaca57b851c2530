/* tool COUNT: measures the time of a tool from PMIx_tool_init to its first
 * reply (the names of all jobs), and to the end of PMIx_tool_finalize. Measures
 * COUNT times, each time in a new process, and reports medians in microseconds.
 */
#include <pmix_tool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

typedef struct {
  double answer;
  double life;
} Times;

static Times Connect(void) {
  char *keys[] = {PMIX_QUERY_NAMESPACES, NULL};
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_proc_t me;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  const double start = NowUs();
  Require(PMIx_tool_init(&me, NULL, 0), "PMIx_tool_init");
  const pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count);
  /* If there is no job, the answer is PMIX_ERR_NOT_FOUND. */
  if (status != PMIX_ERR_NOT_FOUND) Require(status, "PMIx_Query_info");
  const double answered = NowUs();
  Require(PMIx_tool_finalize(), "PMIx_tool_finalize");
  return (Times){answered - start, NowUs() - start};
}

static Times ConnectInChild(void) {
  int ends[2];
  Times times;
  Require(pipe(ends) == 0 ? PMIX_SUCCESS : PMIX_ERROR, "pipe");
  const pid_t child = fork();
  Require(child >= 0 ? PMIX_SUCCESS : PMIX_ERROR, "fork");
  if (child == 0) {
    times = Connect();
    _exit(write(ends[1], &times, sizeof(times)) == sizeof(times) ? 0 : 1);
  }
  close(ends[1]);
  Require(read(ends[0], &times, sizeof(times)) == sizeof(times) ? PMIX_SUCCESS
                                                                : PMIX_ERROR,
          "a tool");
  close(ends[0]);
  waitpid(child, NULL, 0);
  return times;
}

static double ToAnswer(int i) {
  (void)i;
  return ConnectInChild().answer;
}

static double ToEnd(int i) {
  (void)i;
  return ConnectInChild().life;
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 50;
  Measure(ToAnswer, count, "answer_us");
  Measure(ToEnd, count, "life_us");
  return 0;
}
