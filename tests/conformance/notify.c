// Events between processes and nodes: every range, custom lists, sources,
// events that arrive before their handler, and the order of events.
#include "check.h"

enum { kCode = -31001, kEnd = -31002, kBefore = -31003, kMark = -31004 };
enum { kMaxRanks = 64, kRanges = 6, kEvents = 30 };

static const pmix_data_range_t kRange[kRanges] = {
    PMIX_RANGE_RM,      PMIX_RANGE_LOCAL,  PMIX_RANGE_NAMESPACE,
    PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL, PMIX_RANGE_CUSTOM};

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static int g_seen[kMaxRanks][kRanges];  // by source and range
static uint32_t g_next[kMaxRanks];      // next expected serial number
static int g_ends, g_before, g_marks;

static const pmix_info_t *FindInfo(const pmix_info_t *info, size_t ninfo,
                                   const char *key) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (strcmp(info[i].key, key) == 0) return &info[i];
  }
  return NULL;
}

static void Count(int *counter) {
  pthread_mutex_lock(&g_lock);
  ++*counter;
  pthread_cond_broadcast(&g_changed);
  pthread_mutex_unlock(&g_lock);
}

static void Await(int *counter, int count) {
  pthread_mutex_lock(&g_lock);
  while (*counter < count) pthread_cond_wait(&g_changed, &g_lock);
  pthread_mutex_unlock(&g_lock);
}

static void OnEvent(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)results, (void)nresults;
  CHECK(strcmp(source->nspace, g_self.nspace) == 0, "from job %s",
        source->nspace);
  CHECK(source->rank < g_size, "from rank %u", source->rank);
  if (status == kCode) {
    const pmix_info_t *range = FindInfo(info, ninfo, "test.range");
    CHECK(range != NULL && range->value.type == PMIX_UINT32,
          "an event without what was put into it");
    Count(&g_seen[source->rank][range->value.data.uint32]);
  } else if (status == kEnd) {
    const pmix_info_t *serial = FindInfo(info, ninfo, "test.serial");
    CHECK(serial != NULL, "no serial number");
    CHECK(serial->value.data.uint32 == g_next[source->rank],
          "event %u of rank %u before event %u", serial->value.data.uint32,
          source->rank, g_next[source->rank]);
    ++g_next[source->rank];
    Count(&g_ends);
  } else if (status == kBefore) {
    Count(&g_before);
  } else if (status == kMark) {
    Count(&g_marks);
  }
  cbfunc(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, cbdata);
}

static size_t Register(pmix_status_t *codes, size_t ncodes) {
  const pmix_status_t reference =
      PMIx_Register_event_handler(codes, ncodes, NULL, 0, OnEvent, NULL, NULL);
  CHECK(reference >= 0, "%s", PMIx_Error_string(reference));
  return (size_t)reference;
}

static bool InCustom(pmix_rank_t rank) {
  return rank == 0 || rank == g_size - 1;
}

// Makes rank 0 and the last rank raise an event.
static void NotifyOne(int range) {
  static pmix_proc_t procs[2];
  static pmix_data_array_t array;
  procs[0] = ProcOf(0);
  procs[1] = ProcOf(g_size - 1);
  array.type = PMIX_PROC;
  array.size = 2;
  array.array = procs;
  Directives with = {.count = 0};
  AddU32(&with, "test.range", (uint32_t)range);
  if (kRange[range] == PMIX_RANGE_CUSTOM) {
    pmix_info_t *info = NextInfo(&with, PMIX_EVENT_CUSTOM_RANGE);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = &array;
  }
  Signal accepted = SIGNAL_INIT;
  if (range % 2 == 0) {
    OK(PMIx_Notify_event(kCode, &g_self, kRange[range], with.info, with.count,
                         NULL, NULL));
  } else {
    OK(PMIx_Notify_event(kCode, NULL, kRange[range], with.info, with.count,
                         RaiseOp, &accepted));
    OK(WaitFor(&accepted, 1));
  }
}

static void CheckSeen(pmix_rank_t source) {
  for (int range = 0; range < kRanges; ++range) {
    int want = 1;
    if (kRange[range] == PMIX_RANGE_RM) want = 0;
    if (kRange[range] == PMIX_RANGE_LOCAL) want = IsLocal(source);
    if (kRange[range] == PMIX_RANGE_CUSTOM) want = InCustom(g_self.rank);
    CHECK(g_seen[source][range] == want,
          "%d events of rank %u with range %s, not %d", g_seen[source][range],
          source, PMIx_Data_range_string(kRange[range]), want);
  }
}

static void Ranges(void) {
  pmix_status_t codes[] = {kCode, kEnd};
  const size_t handler = Register(codes, 2);
  Barrier();
  for (int range = 0; range < kRanges; ++range) NotifyOne(range);
  for (uint32_t i = 0; i < kEvents; ++i) {
    Directives with = {.count = 0};
    AddU32(&with, "test.serial", i);
    OK(PMIx_Notify_event(kEnd, NULL, PMIX_RANGE_NAMESPACE, with.info,
                         with.count, NULL, NULL));
  }
  // All earlier events of a process arrive before its last event.
  Await(&g_ends, (int)(kEvents * g_size));
  for (pmix_rank_t source = 0; source < g_size; ++source) CheckSeen(source);
  OK(PMIx_Deregister_event_handler(handler, NULL, NULL));
}

// The event is raised without a handler. It is kept for later handlers, unless
// that is forbidden.
static void Cached(void) {
  const Directives dropped = Flag(PMIX_EVENT_DO_NOT_CACHE);
  OK(PMIx_Notify_event(kBefore, NULL, PMIX_RANGE_GLOBAL, dropped.info,
                       dropped.count, NULL, NULL));
  OK(PMIx_Notify_event(kBefore, NULL, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
  OK(PMIx_Notify_event(kMark, NULL, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
  Barrier();
  pmix_status_t codes[] = {kBefore, kMark};
  const size_t handler = Register(codes, 2);
  Await(&g_marks, (int)g_size);
  CHECK(g_before == (int)g_size, "%d of %u events that came too early",
        g_before, g_size);
  OK(PMIx_Deregister_event_handler(handler, NULL, NULL));
}

// A default handler receives codes for which no handler is registered.
static void Default(void) {
  const int before = g_marks;
  Barrier();
  const size_t handler = Register(NULL, 0);
  Barrier();
  if (g_self.rank == 0) {
    OK(PMIx_Notify_event(kMark, NULL, PMIX_RANGE_NAMESPACE, NULL, 0, NULL,
                         NULL));
  }
  Await(&g_marks, before + 1);
  Barrier();
  OK(PMIx_Deregister_event_handler(handler, NULL, NULL));
}

int main(int argc, char **argv) {
  Start(argc, argv);
  CHECK(g_size <= kMaxRanks, "at most 64 ranks");
  Ranges();
  Cached();
  Default();
  Barrier();
  return Finish();
}
