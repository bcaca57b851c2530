/* A tool on another machine than the agents, for the job whose namespace is
 * the first argument. It queries, gets, pulls the output of two ranks ("mine"),
 * and receives the event in the second argument and the end of its server. It
 * prints one line for each. */
#include <stdlib.h>
#include <unistd.h>

#include "pulled_lines.h"

static bool heard;
static bool lost;
static int registered;

static void say(bool *what) {
  pthread_mutex_lock(&lock);
  *what = true;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                     size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                     void *cbdata) {
  (void) id, (void) source, (void) info, (void) ninfo;
  (void) results, (void) nresults;
  say(status == PMIX_ERR_LOST_CONNECTION ? &lost : &heard);
  if (done != NULL) {
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
  }
}

static void on_registered(pmix_status_t status, size_t id, void *cbdata) {
  (void) id, (void) cbdata;
  pthread_mutex_lock(&lock);
  registered += status == PMIX_SUCCESS ? 1 : -100;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static void fail(const char *what, int rc) {
  fprintf(stderr, "%s: %d\n", what, rc);
  exit(1);
}

static void print_query(const char *nspace) {
  pmix_query_t query;
  pmix_info_t *results = NULL;
  size_t count = 0;
  pmix_status_t rc;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, PMIX_JOB_SIZE);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
  PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
  rc = PMIx_Query_info(&query, 1, &results, &count);
  if (rc != PMIX_SUCCESS || count != 1) fail("PMIx_Query_info", rc);
  printf("size %u\n", results[0].value.data.uint32);
}

static void print_get(const char *nspace) {
  pmix_proc_t proc;
  pmix_value_t *value = NULL;
  PMIX_PROC_LOAD(&proc, nspace, PMIX_RANK_WILDCARD);
  pmix_status_t rc = PMIx_Get(&proc, PMIX_NUM_NODES, NULL, 0, &value);
  if (rc != PMIX_SUCCESS) fail("PMIx_Get", rc);
  printf("on %u nodes\n", value->data.uint32);
}

static void wait_for(const bool *what) {
  pthread_mutex_lock(&lock);
  while (!*what) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
  pmix_proc_t me;
  alarm(60);
  if (argc != 3) return 2;
  pmix_status_t rc = PMIx_tool_init(&me, NULL, 0);
  if (rc != PMIX_SUCCESS) fail("PMIx_tool_init", rc);
  print_query(argv[1]);
  print_get(argv[1]);
  pmix_status_t handle = pull_lines(argv[1]);
  if (handle < 0) fail("PMIx_IOF_pull", handle);
  pmix_status_t codes[] = {atoi(argv[2]), PMIX_ERR_LOST_CONNECTION};
  for (int i = 0; i < 2; ++i) {
    PMIx_Register_event_handler(&codes[i], 1, NULL, 0, on_event, on_registered,
                                NULL);
  }
  pthread_mutex_lock(&lock);
  while (registered >= 0 && registered < 2) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  if (registered < 0) fail("PMIx_Register_event_handler", registered);
  printf("listening\n");
  fflush(stdout);
  wait_for(&heard);
  printf("event heard\n");
  fflush(stdout);
  wait_for(&lost);
  printf("server lost\n");
  return 0;
}
