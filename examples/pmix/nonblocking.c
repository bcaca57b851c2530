/* Fence and Get with callbacks. */
#include <pthread.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned done;
static unsigned wrong;

static void count(bool good) {
  pthread_mutex_lock(&mutex);
  ++done;
  if (!good) ++wrong;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void wait_for(unsigned number) {
  pthread_mutex_lock(&mutex);
  while (done < number) pthread_cond_wait(&changed, &mutex);
  done = 0;
  CHECK(wrong == 0);
  pthread_mutex_unlock(&mutex);
}

static void on_fence(pmix_status_t status, void *cbdata) {
  (void)cbdata;
  count(status == PMIX_SUCCESS);
}

static void on_value(pmix_status_t status, pmix_value_t *value, void *cbdata) {
  count(status == PMIX_SUCCESS && value->type == PMIX_UINT64 &&
        value->data.uint64 == (uint64_t)(uintptr_t)cbdata);
}

int main(int argc, char **argv) {
  begin(argc, argv);
  put_number(PMIX_GLOBAL, "example.number", self.rank);
  CHECK_OK(PMIx_Commit());
  for (pmix_rank_t rank = 0; rank < job_size; ++rank) {
    pmix_proc_t proc = peer(rank);
    CHECK_OK(PMIx_Get_nb(&proc, "example.number", NULL, 0, on_value,
                         (void *)(uintptr_t)rank));
  }
  wait_for(job_size);
  bool collect = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  CHECK_OK(PMIx_Fence_nb(NULL, 0, &info, 1, on_fence, NULL));
  wait_for(1);
  PMIX_INFO_DESTRUCT(&info);
  return end("nonblocking");
}
