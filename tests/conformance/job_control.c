// PMIx_Job_control and PMIx_Job_control_nb: signals, pauses and ends of
// processes on all nodes and of other jobs, and rejected calls. The rules of
// part JOB are named beside their checks; JOB-10 is in cleanup.c.
#include <signal.h>
#include <time.h>

#include "children.h"

enum { kPauseMs = 400, kTooLongMs = 60000 };

static volatile sig_atomic_t g_signals;

static void OnSignal(int number) {
  (void)number;
  ++g_signals;
}

static void OnInfo(pmix_status_t status, pmix_info_t *info, size_t ninfo,
                   void *call, pmix_release_cbfunc_t release,
                   void *release_data) {
  (void)info, (void)ninfo;
  if (release != NULL) release(release_data);
  Answered(call, status);
}

static int64_t NowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void Nap(int ms) {
  const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&time, NULL);
}

static void AwaitSignals(int count) {
  const int64_t begin = NowMs();
  while (g_signals < count) {
    CHECK(NowMs() - begin < kTooLongMs, "%d signals of %d", (int)g_signals,
          count);
    Nap(5);
  }
}

static Directives SignalNumber(int number) {
  Directives list = {.count = 0};
  AddInt(&list, PMIX_JOB_CTRL_SIGNAL, number);
  AddText(&list, PMIX_JOB_CTRL_ID, "signal");
  return list;
}

// JOB-06: an empty list of targets means the caller's namespace, as does the
// wildcard; a list means its ranks. Each target receives the signal once.
static void Signals(void) {
  signal(SIGUSR1, OnSignal);
  Barrier();
  const Directives usr1 = SignalNumber(SIGUSR1);
  if (g_self.rank == 0) {
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    OK(PMIx_Job_control(NULL, 0, usr1.info, usr1.count, &results, &nresults));
    CHECK(nresults == 1 && PMIX_CHECK_KEY(&results[0], PMIX_JOB_CTRL_ID),
          "%zu results", nresults);
    PMIX_INFO_FREE(results, nresults);
  }
  AwaitSignals(1);
  Barrier();
  if (g_self.rank == g_size - 1) {
    ANSWERS(PMIX_SUCCESS, PMIx_Job_control_nb, &g_job, 1, usr1.info, usr1.count,
            OnInfo);
  }
  AwaitSignals(2);
  Barrier();
  const pmix_proc_t ends[] = {ProcOf(0), ProcOf(g_size - 1)};
  if (g_self.rank == 1) {
    OK(PMIx_Job_control(ends, 2, usr1.info, usr1.count, NULL, NULL));
  }
  Barrier();
  const bool named = g_self.rank == 0 || g_self.rank == g_size - 1;
  AwaitSignals(named ? 3 : 2);
  Barrier();
  CHECK(g_signals == (named ? 3 : 2), "%d signals", (int)g_signals);
}

// JOB-07: the last rank measures how long it was paused, at any point of its
// program.
static void Pause(void) {
  Barrier();
  const pmix_proc_t last = ProcOf(g_size - 1);
  const pmix_proc_t both[] = {ProcOf(0), last};
  const int64_t begin = NowMs();
  if (g_self.rank == 0 || g_self.rank == last.rank) {
    OK(PMIx_Fence(both, 2, NULL, 0));
  }
  if (g_self.rank == 0) {
    const Directives pause = Flag(PMIX_JOB_CTRL_PAUSE);
    const Directives resume = Flag(PMIX_JOB_CTRL_RESUME);
    OK(PMIx_Job_control(&last, 1, pause.info, pause.count, NULL, NULL));
    Nap(2 * kPauseMs);
    OK(PMIx_Job_control(&last, 1, resume.info, resume.count, NULL, NULL));
  }
  if (g_self.rank == last.rank) {
    int64_t before = begin;
    int64_t gap = 0;
    while (gap < kPauseMs) {
      const int64_t now = NowMs();
      gap = now - before;
      before = now;
      CHECK(now - begin < kTooLongMs, "it was never paused");
      Nap(5);
    }
  }
  Barrier();
}

// Spawns a job of one process that ends only by request.
static void SpawnSleeper(pmix_proc_t *proc) {
  char *argv[3];
  pmix_app_t app = Program("/bin/sleep", argv);
  char seconds[] = "1000";
  argv[1] = seconds;
  argv[2] = NULL;
  PMIX_LOAD_PROCID(proc, "", PMIX_RANK_WILDCARD);
  OK(PMIx_Spawn(NULL, 0, &app, 1, proc->nspace));
}

// Ends another job of the same user. The call completes when the targets have
// ended.
static void EndOthers(void) {
  static const char *const kWays[] = {PMIX_JOB_CTRL_TERMINATE,
                                      PMIX_JOB_CTRL_KILL};
  if (g_self.rank != g_size - 1) return;
  for (size_t i = 0; i < sizeof(kWays) / sizeof(*kWays); ++i) {
    pmix_proc_t child;
    SpawnSleeper(&child);
    const Directives end = Flag(kWays[i]);
    OK(PMIx_Job_control(&child, 1, end.info, end.count, NULL, NULL));
    const Directives usr1 = SignalNumber(SIGUSR1);
    EXPECT(PMIX_ERR_NOT_FOUND,
           PMIx_Job_control(&child, 1, usr1.info, usr1.count, NULL, NULL));
  }
}

static void Malformed(void) {
  const Directives usr1 = SignalNumber(SIGUSR1);
  const Directives none = SignalNumber(0);
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Job_control(&g_self, 1, none.info, none.count, NULL, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Job_control(&g_self, 1, NULL, 0, NULL, NULL));
  Directives both = Flag(PMIX_JOB_CTRL_PAUSE);
  AddFlag(&both, PMIX_JOB_CTRL_RESUME, true);
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Job_control(&g_self, 1, both.info, both.count, NULL, NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Job_control_nb, NULL, 1, usr1.info,
          usr1.count, OnInfo);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Job_control_nb, &g_self, 1, NULL, 0, OnInfo);
  ANSWERS(PMIX_ERR_BAD_PARAM, PMIx_Job_control_nb, &g_self, 1, both.info,
          both.count, OnInfo);
}

static void Unknown(void) {
  const Directives usr1 = SignalNumber(SIGUSR1);
  const pmix_proc_t beyond = ProcOf(g_size);
  pmix_proc_t nobody;
  PMIX_LOAD_PROCID(&nobody, "no-such-job", 0);
  EXPECT(PMIX_ERR_NOT_FOUND,
         PMIx_Job_control(&beyond, 1, usr1.info, usr1.count, NULL, NULL));
  EXPECT(PMIX_ERR_NOT_FOUND,
         PMIx_Job_control(&nobody, 1, usr1.info, usr1.count, NULL, NULL));
  ANSWERS(PMIX_ERR_NOT_FOUND, PMIx_Job_control_nb, &nobody, 1, usr1.info,
          usr1.count, OnInfo);
}

// JOB-08, JOB-09: the call has no effect, and the results name the directives.
static void Unsupported(void) {
  static const char *const kKeys[] = {
      PMIX_JOB_CTRL_CANCEL,
      PMIX_JOB_CTRL_RESTART,
      PMIX_JOB_CTRL_CHECKPOINT,
      PMIX_JOB_CTRL_CHECKPOINT_EVENT,
      PMIX_JOB_CTRL_CHECKPOINT_SIGNAL,
      PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT,
      PMIX_JOB_CTRL_CHECKPOINT_METHOD,
      PMIX_JOB_CTRL_PROVISION,
      PMIX_JOB_CTRL_PROVISION_IMAGE,
      PMIX_JOB_CTRL_PREEMPTIBLE,
  };
  for (size_t i = 0; i < sizeof(kKeys) / sizeof(*kKeys); ++i) {
    Directives with = {.count = 0};
    AddText(&with, kKeys[i], "x");
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    EXPECT(
        PMIX_ERR_NOT_SUPPORTED,
        PMIx_Job_control(NULL, 0, with.info, with.count, &results, &nresults));
    CHECK(nresults == 1 && PMIX_CHECK_KEY(&results[0], kKeys[i]),
          "%s: %zu results", kKeys[i], nresults);
    PMIX_INFO_FREE(results, nresults);
    ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Job_control_nb, NULL, 0, with.info,
            with.count, OnInfo);
  }
  // One required directive that is not supported makes the whole call fail.
  Directives with = Flag(PMIX_JOB_CTRL_KILL);
  AddText(&with, PMIX_JOB_CTRL_RESTART, "x");
  PMIX_INFO_REQUIRED(&with.info[1]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED,
         PMIx_Job_control(NULL, 0, with.info, with.count, NULL, NULL));
}

// Makes contradictory registrations, and a registration with all attributes.
static void Cleanup(void) {
  Directives with = {.count = 0};
  AddText(&with, PMIX_REGISTER_CLEANUP_DIR, "/tmp/canopy-no-such-directory");
  AddFlag(&with, PMIX_CLEANUP_RECURSIVE, true);
  AddFlag(&with, PMIX_CLEANUP_LEAVE_TOPDIR, true);
  ANSWERS(PMIX_SUCCESS, PMIx_Job_control_nb, &g_self, 1, with.info, with.count,
          OnInfo);
  AddFlag(&with, PMIX_CLEANUP_EMPTY, true);
  EXPECT(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES,
         PMIx_Job_control(&g_self, 1, with.info, with.count, NULL, NULL));
  ANSWERS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, PMIx_Job_control_nb, &g_self,
          1, with.info, with.count, OnInfo);
  Directives file = {.count = 0};
  AddText(&file, PMIX_REGISTER_CLEANUP, "/tmp/canopy-no-such-file");
  AddText(&file, PMIX_CLEANUP_IGNORE, "/tmp/canopy-no-such-file");
  EXPECT(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES,
         PMIx_Job_control(&g_self, 1, file.info, file.count, NULL, NULL));
}

int main(int argc, char **argv) {
  const Directives usr1 = SignalNumber(SIGUSR1);
  EXPECT(PMIX_ERR_INIT,
         PMIx_Job_control(NULL, 0, usr1.info, usr1.count, NULL, NULL));
  REFUSES(PMIX_ERR_INIT, PMIx_Job_control_nb, NULL, 0, usr1.info, usr1.count,
          OnInfo);
  Start(argc, argv);
  Signals();
  Pause();
  EndOthers();
  Malformed();
  Unknown();
  Unsupported();
  Cleanup();
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
