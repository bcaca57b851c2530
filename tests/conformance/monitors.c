// PMIx_Process_monitor in both forms, and PMIx_Heartbeat: JOB-11, JOB-12 and
// JOB-15 to JOB-19.
#include <sched.h>

#include "nonblocking.h"

enum { kOwnCode = PMIX_EXTERNAL_ERR_BASE - 7, kMaxRanks = 64 };

// The number of alerts of each rank's monitors, by code and id.
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static int g_beats[kMaxRanks];
static int g_files[kMaxRanks];
static int g_own[kMaxRanks];

static const char *TextIn(const pmix_info_t info[], size_t ninfo,
                          const char *key) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&info[i], key)) return info[i].value.data.string;
  }
  return "";
}

static void OnAlert(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                    size_t nresults, pmix_event_notification_cbfunc_fn_t cbfunc,
                    void *cbdata) {
  (void)id, (void)results, (void)nresults;
  CHECK(PMIX_CHECK_NSPACE(source->nspace, g_self.nspace), "from %s",
        source->nspace);
  CHECK(source->rank < kMaxRanks, "from rank %u", source->rank);
  const bool is_own = status == kOwnCode;
  const bool is_file = status == PMIX_MONITOR_FILE_ALERT;
  const char *want = is_own ? "own" : is_file ? "file" : "beat";
  const char *got = TextIn(info, ninfo, PMIX_MONITOR_ID);
  CHECK(strcmp(got, want) == 0, "the monitor %s, not %s", got, want);
  pthread_mutex_lock(&g_lock);
  ++(is_own ? g_own : is_file ? g_files : g_beats)[source->rank];
  pthread_mutex_unlock(&g_lock);
  cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static int Count(const int *counts, pmix_rank_t rank) {
  pthread_mutex_lock(&g_lock);
  const int count = counts[rank];
  pthread_mutex_unlock(&g_lock);
  return count;
}

static void Registered(pmix_status_t status, size_t id, void *signal) {
  (void)id;
  Raise(signal, status);
}

static void Register(void) {
  pmix_status_t codes[] = {PMIX_MONITOR_HEARTBEAT_ALERT,
                           PMIX_MONITOR_FILE_ALERT, kOwnCode};
  Signal signal = SIGNAL_INIT;
  PMIx_Register_event_handler(codes, 3, NULL, 0, OnAlert, Registered, &signal);
  EXPECT(PMIX_SUCCESS, WaitFor(&signal, 1));
}

static void OnMonitor(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                      void *call, pmix_release_cbfunc_t release, void *object) {
  (void)info, (void)ninfo;
  if (release != NULL) release(object);
  Answered(call, status);
}

static Directives Named(const char *id) {
  Directives list = {.count = 0};
  AddText(&list, PMIX_MONITOR_ID, id);
  return list;
}

static Directives Heartbeats(const char *id, uint32_t seconds, uint32_t drops) {
  Directives list = Named(id);
  AddU32(&list, PMIX_MONITOR_HEARTBEAT_TIME, seconds);
  AddU32(&list, PMIX_MONITOR_HEARTBEAT_DROPS, drops);
  AddFlag(&list, PMIX_MONITOR_APP_CONTROL, true);
  AddU32(&list, PMIX_USERID, geteuid());
  AddU32(&list, PMIX_GRPID, getegid());
  return list;
}

static Directives Changes(const char *id, uint32_t seconds) {
  Directives list = Named(id);
  AddFlag(&list, PMIX_MONITOR_FILE_SIZE, true);
  AddFlag(&list, PMIX_MONITOR_FILE_ACCESS, true);
  AddFlag(&list, PMIX_MONITOR_FILE_MODIFY, true);
  AddU32(&list, PMIX_MONITOR_FILE_CHECK_TIME, seconds);
  AddU32(&list, PMIX_MONITOR_FILE_DROPS, 0);
  return list;
}

// Returns a request that ends the caller's monitor of this name, or, if `id` is
// null, all monitors of the caller.
static Directives Ended(const char *id) {
  Directives what = {.count = 0};
  if (id != NULL) AddText(&what, PMIX_MONITOR_CANCEL, id);
  if (id == NULL) NextInfo(&what, PMIX_MONITOR_CANCEL);
  return what;
}

// All processes of the namespace are alerted about a process without heartbeats
// (JOB-12, JOB-15).
static void Missing(void) {
  const Directives what = Flag(PMIX_MONITOR_HEARTBEAT);
  const Directives with = Heartbeats("beat", 1, 1);
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  OK(PMIx_Process_monitor(what.info, PMIX_SUCCESS, with.info, with.count,
                          &results, &nresults));
  for (uint32_t rank = 0; rank < g_size; ++rank) {
    while (Count(g_beats, rank) == 0) sched_yield(), usleep(10000);
  }
  const Directives ended = Ended("beat");
  OK(PMIx_Process_monitor(ended.info, PMIX_SUCCESS, NULL, 0, &results,
                          &nresults));
  EXPECT(PMIX_ERR_NOT_FOUND,
         PMIx_Process_monitor(ended.info, PMIX_SUCCESS, NULL, 0, &results,
                              &nresults));
}

// The monitor of a file that is not modified alerts (JOB-16); the monitor of a
// process that sends heartbeats meanwhile does not (JOB-19). The caller chooses
// the code of the alert (JOB-11).
static void Beating(const char *path) {
  const Directives beats = Flag(PMIX_MONITOR_HEARTBEAT);
  const Directives own = Heartbeats("own", 2, 1);
  ANSWERS(PMIX_SUCCESS, PMIx_Process_monitor_nb, beats.info, kOwnCode, own.info,
          own.count, OnMonitor);
  Directives file = {.count = 0};
  AddText(&file, PMIX_MONITOR_FILE, path);
  const Directives with = Changes("file", 5);
  pmix_info_t *results = NULL;
  size_t nresults = 0;
  OK(PMIx_Process_monitor(file.info, PMIX_MONITOR_FILE_ALERT, with.info,
                          with.count, &results, &nresults));
  const Directives beat = Flag(PMIX_SEND_HEARTBEAT);
  for (int i = 0; Count(g_files, g_self.rank) == 0; ++i) {
    if (i % 2 == 0) PMIx_Heartbeat();
    if (i % 2 == 1) {
      OK(PMIx_Process_monitor(beat.info, PMIX_SUCCESS, NULL, 0, &results,
                              &nresults));
    }
    usleep(100000);
  }
  CHECK(Count(g_own, g_self.rank) == 0, "alerted of one who beats");
  const Directives all = Ended(NULL);
  const Directives ended[] = {Ended("own"), Ended("file")};
  OK(PMIx_Process_monitor(all.info, PMIX_SUCCESS, NULL, 0, &results,
                          &nresults));
  for (int i = 0; i < 2; ++i) {
    EXPECT(PMIX_ERR_NOT_FOUND,
           PMIx_Process_monitor(ended[i].info, PMIX_SUCCESS, NULL, 0, &results,
                                &nresults));
  }
}

static void Wrong(void) {
  const Directives what = Flag(PMIX_MONITOR_HEARTBEAT);
  const Directives other = Flag("other");
  Directives never = Named("x");
  Directives unknown = Heartbeats("x", 5, 0);
  AddFlag(&unknown, "unknown", true);
  PMIX_INFO_REQUIRED(&unknown.info[unknown.count - 1]);
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Process_monitor(NULL, 0, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Process_monitor(what.info, 0, never.info, 1, NULL, NULL));
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Process_monitor(other.info, 0, NULL, 0, NULL, NULL));
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Process_monitor(what.info, 0, unknown.info, unknown.count, NULL,
                              NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Process_monitor_nb, NULL, 0, NULL, 0,
          OnMonitor);
  ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Process_monitor_nb, other.info, 0, NULL,
          0, OnMonitor);
  ANSWERS(PMIX_ERR_BAD_PARAM, PMIx_Process_monitor_nb, what.info, 0, never.info,
          1, OnMonitor);
}

int main(int argc, char **argv) {
  char path[] = "/tmp/canopy-monitors-XXXXXX";
  Start(argc, argv);
  CHECK(g_size <= kMaxRanks, "%u ranks", g_size);
  CHECK(mkstemp(path) >= 0, "no file");
  Register();
  Wrong();
  Barrier();
  Missing();
  Barrier();
  Beating(path);
  unlink(path);
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
