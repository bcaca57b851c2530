/* Receives events about nodes. Usage: nodes COUNT
 *
 * Each process prints the events about COUNT nodes, one for each node, and
 * ends. */
#include <pthread.h>
#include <string.h>

#include "pmix_check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int heard, by_default;

static void on_node(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                    size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                    void *data) {
  (void)id, (void)source, (void)results, (void)nresults;
  const char *name = "?";
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_HOSTNAME)) {
      name = info[i].value.data.string;
    }
  }
  printf("%u: %s is %s\n", self.rank, name,
         status == PMIX_EVENT_NODE_DOWN ? "down" : "offline");
  fflush(stdout);
  pthread_mutex_lock(&lock);
  ++heard;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void on_any(size_t id, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                   size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                   void *data) {
  (void)id, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  if (status == PMIX_EVENT_NODE_DOWN || status == PMIX_EVENT_NODE_OFFLINE) {
    by_default = 1;
  }
  if (done != NULL) {
    done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, data);
  }
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  pmix_status_t codes[] = {PMIX_EVENT_NODE_DOWN, PMIX_EVENT_NODE_OFFLINE};
  check(PMIx_Init(&self, NULL, 0), "init");
  int rc = PMIx_Register_event_handler(NULL, 0, NULL, 0, on_any, NULL, NULL);
  check(rc < 0 ? rc : PMIX_SUCCESS, "register for all");
  rc = PMIx_Register_event_handler(codes, 2, NULL, 0, on_node, NULL, NULL);
  check(rc < 0 ? rc : PMIX_SUCCESS, "register");
  fence(0);
  printf("up\n");
  fflush(stdout);
  pthread_mutex_lock(&lock);
  while (heard < count) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  want((unsigned)by_default, 0, "in a default handler");
  check(PMIx_Finalize(NULL, 0), "finalize");
  return 0;
}
