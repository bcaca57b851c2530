/* event COUNT: rank 0 raises an event for all processes of its job, COUNT
 * times: median in microseconds until the last of them has run its handler.
 * The processes are on one machine: each writes when its handler ran into
 * memory that all of them share. */
#include <fcntl.h>
#include <pmix.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure.h"

enum { kCode = -3333, kPatienceUs = 5000000 };

/* Of each rank: how many events it had, and when it had the last. */
struct Receipt {
  atomic_int events;
  double when;
};

static pmix_proc_t me;
static uint32_t size;
static struct Receipt *receipts;

static struct Receipt *Share(uint32_t ranks) {
  char name[PMIX_MAX_NSLEN + 16];
  const size_t bytes = ranks * sizeof(struct Receipt);
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
  receipts[me.rank].when = NowUs();
  atomic_fetch_add(&receipts[me.rank].events, 1);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* Without taking the processor from who still has to receive it. */
static void AwaitAll(int events, double start) {
  for (uint32_t rank = 0; rank < size; ++rank) {
    while (atomic_load(&receipts[rank].events) < events) {
      Require(NowUs() - start > kPatienceUs, "an event that did not come");
      usleep(100);
    }
  }
}

static double TimeEvent(int i) {
  double last = 0;
  const double start = NowUs();
  const int rc =
      PMIx_Notify_event(kCode, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL);
  Require(rc == PMIX_OPERATION_SUCCEEDED ? 0 : rc, "PMIx_Notify_event");
  AwaitAll(i + 1, start);
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (receipts[rank].when > last) last = receipts[rank].when;
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
  Require(
      PMIx_Register_event_handler(&code, 1, NULL, 0, OnEvent, NULL, NULL) < 0,
      "PMIx_Register_event_handler");
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  if (me.rank == 0) Measure(TimeEvent, count, "event_us");
  Require(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  return PMIx_Finalize(NULL, 0);
}
