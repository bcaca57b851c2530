/* A debugger that attaches to a job, without the debugging: it is a tool,
   started by hand on a node of the job, which asks for the job's processes,
   waits until they are ready to be debugged, and lets them go.

   debugger NAMESPACE           prints the processes
   debugger NAMESPACE release   waits for PMIX_READY_FOR_DEBUG first, and ends
                                with PMIX_DEBUGGER_RELEASE
   debugger NAMESPACE free      does not wait: for processes that are stopped at
                                their exec, of which nothing tells */
#include <pmix_tool.h>
#include <pthread.h>
#include <stdbool.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const char *target;
static bool ready;

static void on_ready(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                     size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cbfunc, void *cbdata) {
  (void)id, (void)status, (void)results, (void)nresults;
  if (strcmp(source->nspace, target) == 0) {
    for (size_t i = 0; i < ninfo; ++i) {
      if (PMIX_CHECK_KEY(&info[i], PMIX_BREAKPOINT)) {
        printf("ready at %s\n", info[i].value.data.string);
      }
    }
    pthread_mutex_lock(&mutex);
    ready = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void watch(void) {
  pmix_status_t code = PMIX_READY_FOR_DEBUG;
  CHECK(PMIx_Register_event_handler(&code, 1, NULL, 0, on_ready, NULL, NULL) >=
        0);
}

static void wait_until_ready(void) {
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

static void print_processes(void) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  PMIX_QUERY_CONSTRUCT(&query);
  pmix_status_t status;
  PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_PROC_TABLE);
  CHECK_OK(status);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
  PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, target, PMIX_STRING);
  CHECK_OK(PMIx_Query_info(&query, 1, &results, &count));
  CHECK(count == 1 && results[0].value.type == PMIX_DATA_ARRAY);
  const pmix_data_array_t *table = results[0].value.data.darray;
  const pmix_proc_info_t *rows = table->array;
  for (size_t i = 0; i < table->size; ++i) {
    printf("rank %u pid %d on %s: %s\n", rows[i].proc.rank, (int)rows[i].pid,
           rows[i].hostname, rows[i].executable_name);
  }
  PMIX_INFO_FREE(results, count);
  PMIX_QUERY_DESTRUCT(&query);
}

static void release(void) {
  pmix_proc_t all;
  pmix_info_t infos[2];
  PMIX_PROC_LOAD(&all, target, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&infos[0], PMIX_EVENT_CUSTOM_RANGE, &all, PMIX_PROC);
  PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
  CHECK_OK(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &self, PMIX_RANGE_CUSTOM,
                             infos, 2, NULL, NULL));
  PMIX_INFO_DESTRUCT(&infos[0]);
  PMIX_INFO_DESTRUCT(&infos[1]);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s NAMESPACE [release | free]\n", argv[0]);
    return 2;
  }
  const char *word = argc > 2 ? argv[2] : "";
  target = argv[1];
  CHECK_OK(PMIx_tool_init(&self, NULL, 0));
  if (strcmp(word, "release") == 0) {
    watch();
    wait_until_ready();
  }
  print_processes();
  if (*word != 0) release();
  CHECK_OK(PMIx_tool_finalize());
  return 0;
}
