/* Every rank raises an event, and every rank receives all of them. */
#include <pthread.h>

#include "check.h"

enum { kExampleCode = -7777 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned heard;
static bool *from;

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t *results,
                     size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cbfunc, void *cbdata) {
  (void)id, (void)info, (void)ninfo, (void)results, (void)nresults;
  pthread_mutex_lock(&mutex);
  if (status == kExampleCode && source->rank < job_size &&
      !from[source->rank]) {
    from[source->rank] = true;
    ++heard;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

int main(int argc, char **argv) {
  begin(argc, argv);
  from = calloc(job_size, sizeof(*from));
  pmix_status_t code = kExampleCode;
  pmix_status_t reference =
      PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
  CHECK(reference >= 0);
  CHECK_OK(PMIx_Notify_event(kExampleCode, &self, PMIX_RANGE_NAMESPACE, NULL, 0,
                             NULL, NULL));
  pthread_mutex_lock(&mutex);
  while (heard < job_size) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  CHECK_OK(PMIx_Deregister_event_handler((size_t)reference, NULL, NULL));
  free(from);
  return end("events");
}
