/* A tool that is on another machine than the agents, for the job whose namespace
 * is argument 1: queries, gets, pulls what two ranks write ("mine"), hears of the
 * event in argument 2, and of the end of its server. One line each. */
#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char text[1 << 12];
static size_t size;
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

static void on_output(size_t handle, pmix_iof_channel_t channel,
                      pmix_proc_t *source, pmix_byte_object_t *payload,
                      pmix_info_t info[], size_t ninfo) {
  (void) handle, (void) channel, (void) source, (void) info, (void) ninfo;
  if (payload == NULL || payload->bytes == NULL) return;
  pthread_mutex_lock(&lock);
  if (size + payload->size < sizeof(text)) {
    memcpy(text + size, payload->bytes, payload->size);
    size += payload->size;
  }
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static int lines(void) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, "mine ")) != NULL; ++at) ++n;
  return n;
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

static void pull(const char *nspace) {
  pmix_proc_t job;
  pmix_info_t copy;
  bool yes = true;
  PMIX_PROC_LOAD(&job, nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&copy, PMIX_IOF_COPY, &yes, PMIX_BOOL);
  pmix_status_t handle =
      PMIx_IOF_pull(&job, 1, &copy, 1, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL,
                    NULL);
  if (handle < 0) fail("PMIx_IOF_pull", handle);
  pthread_mutex_lock(&lock);
  while (lines() < 2) pthread_cond_wait(&changed, &lock);
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    printf("pulled %s\n", line);
  }
  pthread_mutex_unlock(&lock);
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
  pull(argv[1]);
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
