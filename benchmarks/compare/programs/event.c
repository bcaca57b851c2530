/* event COUNT: rank 0 raises an event for all processes of its job, COUNT
 * times. Reports the median time in microseconds until the last process has run
 * its handler. The processes are on one machine: each writes the time of its
 * handler into shared memory, and the last process wakes rank 0. */
#include <fcntl.h>
#include <pmix.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

enum { kCode = -3333, kPatienceSeconds = 5 };

struct Receipts {
  sem_t all;           /* the last handler has run */
  atomic_uint missing; /* ranks whose handler has not run */
  double when[];       /* time of each rank's handler */
};

static pmix_proc_t me;
static uint32_t size;
static struct Receipts *receipts;

static struct Receipts *Share(uint32_t ranks) {
  char name[PMIX_MAX_NSLEN + 16];
  const size_t bytes = sizeof(struct Receipts) + ranks * sizeof(double);
  snprintf(name, sizeof name, "/bench-%s", me.nspace);
  for (char *c = name + 1; *c != '\0'; ++c) {
    if (*c == '/') *c = '-';
  }
  const int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
  Require(fd < 0 || ftruncate(fd, (off_t)bytes) != 0, "shm_open");
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  Require(memory == MAP_FAILED, "mmap");
  close(fd);
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  if (me.rank == 0) shm_unlink(name);
  return memory;
}

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                    void *cbdata) {
  (void)id, (void)status, (void)source, (void)info, (void)ninfo;
  (void)results, (void)nresults;
  receipts->when[me.rank] = NowUs();
  if (atomic_fetch_sub(&receipts->missing, 1) == 1) sem_post(&receipts->all);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void AwaitAll(void) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += kPatienceSeconds;
  Require(sem_timedwait(&receipts->all, &limit), "an event that did not come");
}

static double TimeEvent(int i) {
  (void)i;
  double last = 0;
  atomic_store(&receipts->missing, size);
  const double start = NowUs();
  const int rc =
      PMIx_Notify_event(kCode, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL);
  Require(rc == PMIX_OPERATION_SUCCEEDED ? 0 : rc, "PMIx_Notify_event");
  AwaitAll();
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (receipts->when[rank] > last) last = receipts->when[rank];
  }
  return last - start;
}

static uint32_t JobSize(void) {
  pmix_proc_t job;
  pmix_value_t *value;
  PMIX_PROC_LOAD(&job, me.nspace, PMIX_RANK_WILDCARD);
  Require(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), "PMIx_Get");
  const uint32_t ranks = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return ranks;
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 100;
  pmix_status_t code = kCode;
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  size = JobSize();
  receipts = Share(size);
  if (me.rank == 0) Require(sem_init(&receipts->all, 1, 0), "sem_init");
  Require(
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnEvent, NULL, NULL) < 0,
      "PMIx_Register_event_handler");
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  if (me.rank == 0) Measure(TimeEvent, count, "event_us");
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  return PMIx_Finalize(NULL, 0);
}
