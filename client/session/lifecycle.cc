#include "client/session/lifecycle.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "client/session/bootstrap.h"
#include "client/session/debug_stop.h"
#include "client/session/event_op.h"
#include "client/session/fence_op.h"
#include "client/session/group_invite_op.h"
#include "client/session/init_options.h"
#include "client/session/successor_search.h"
#include "client/topology/topology_op.h"
#include "common/local/calls.h"
#include "common/local_protocol.h"
#include "common/mutex.h"
#include "common/support/ignored_directives.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// Plain data that a forked child can reset; never destroyed.
struct Library {
  std::atomic<Session*> session{nullptr};
  std::atomic<int> calls{0};  // calls that may use the session
  Mutex* mu = new Mutex;
  int references CANOPY_GUARDED_BY(mu) = 0;
  // The parent's session, in a child after fork. Never freed: its threads do
  // not exist here, and its locks may be held.
  Session* inherited = nullptr;
};
Library g_library;

// The threads do not exist in the child and the connection belongs to the
// parent, so the child has no session. The child's copy of the socket would
// keep the connection open after the parent's end. Excluded from the analysis:
// the mutex is not locked but replaced, because a thread that does not exist
// here may hold it.
void AfterForkInChild() CANOPY_NO_THREAD_SAFETY_ANALYSIS {
  Session* session = g_library.session.exchange(nullptr);
  if (session != nullptr) {
    g_library.inherited = session;
    session->servers().CloseSocketsInChild();
  }
  support::IgnoredDirectives::ResetInChild();
  g_library.calls = 0;
  g_library.references = 0;
  g_library.mu = new Mutex;
}

void WatchForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, AfterForkInChild);
  (void)registered;
}

// Announces a new programming model to the handlers of this process.
void DeclareModel(Session& session, const InitOptions& options) {
  if (options.model.empty()) return;
  InfoList infos = options.model;
  // The start of the library has honoured the required infos; the event only
  // reports them.
  for (size_t i = 0; i < infos.size(); ++i) infos.mutable_data()[i].flags = 0;
  // Default handlers treat every event as a failure.
  infos.Add(PMIX_EVENT_NON_DEFAULT, Value::Bool(true));
  Notification event;
  event.status = PMIX_MODEL_DECLARED;
  event.range = PMIX_RANGE_PROC_LOCAL;
  event.info = infos.data();
  event.ninfo = infos.size();
  (void)NotifyEvent(session, event, nullptr, nullptr);
}

// Returns true if the caller requests another way to drive progress than the
// session has, because all users of the library in a process drive it in one
// way.
bool Conflicts(Session& session, const InitOptions& options) {
  return options.external_progress &&
         *options.external_progress != session.progress().external();
}

// Returns true if PMIx_Progress_thread_stop concerns the library's thread.
// Without a name the call concerns all threads.
bool NamesOurThread(const pmix_info_t* info, size_t ninfo) {
  if (info == nullptr) return true;
  const pmix_info_t* name = FindInfo({info, ninfo}, PMIX_PROGRESS_THREAD_NAME);
  const auto text = name == nullptr ? std::nullopt : StringOf(name->value);
  return !text || *text == Progress::kThreadName;
}

// Waits until no call is in progress; calls that waited for the agent have
// failed before.
void Drain() {
  while (g_library.calls.load(std::memory_order_seq_cst) > 0) sched_yield();
}

// Writes a line to the agent's log for each ignored directive.
void ReportIgnored(Session& session) {
  support::IgnoredDirectives::OfProcess().SetReport(
      [&session](std::string_view function, std::string_view key) {
        const ChannelRef channel = session.channel();
        if (channel == nullptr) return;
        (void)channel->Post(local::FrameType::kIgnored,
                            wire::Encode(local::Ignored{function, key}));
      });
}

void EndSession() {
  support::IgnoredDirectives::OfProcess().End();
  Session* session = g_library.session.exchange(nullptr);
  session->pulls().Leave();
  for (const ChannelRef& server : session->servers().open()) {
    (void)server->Call(local::FrameType::kFinalize, {});
  }
  session->servers().Close();
  Drain();
  delete session;
}

}  // namespace

ApiCall::ApiCall() {
  g_library.calls.fetch_add(1, std::memory_order_seq_cst);
  session_ = g_library.session.load(std::memory_order_seq_cst);
}

ApiCall::~ApiCall() { g_library.calls.fetch_sub(1, std::memory_order_release); }

Result<Bootstrap> FindAgent() {
  const Result<Environment> environment = ReadEnvironment();
  if (!environment.ok()) return environment.status();
  if (environment->socket.empty()) return MakeSingleton();
  return ConnectAtStart(*environment);
}

int InitLibrary(pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo) {
  InitOptions options;
  const int rc = ParseInitOptions("PMIx_Init", info, ninfo, &options);
  return rc == PMIX_SUCCESS ? InitLibraryBy(FindAgent, options, proc) : rc;
}

int InitLibraryBy(const FindBootstrap& find, const InitOptions& options,
                  pmix_proc_t* proc) {
  WatchForks();
  const MutexLock lock(*g_library.mu);
  Session* session = g_library.session.load();
  if (session == nullptr) {
    Result<Bootstrap> bootstrap = find();
    if (!bootstrap.ok()) return bootstrap.code();
    auto created =
        std::make_unique<Session>(std::move(bootstrap).value(),
                                  options.external_progress.value_or(false));
    ObserveInvitations(*created);
    session = created.release();
    g_library.session.store(session);
    ReportIgnored(*session);
    const int rc = StopForDebugger(*session, options.stops);
    if (rc != PMIX_SUCCESS) {
      EndSession();
      return rc;
    }
  } else if (Conflicts(*session, options)) {
    return PMIX_ERR_BAD_PARAM;
  }
  ++g_library.references;
  if (proc != nullptr) *proc = ToC(session->self());
  DeclareModel(*session, options);
  return PMIX_SUCCESS;
}

void InitServerSession(const ProcId& self, Session::OwnServer server) {
  WatchForks();
  const MutexLock lock(*g_library.mu);
  Session* session = g_library.session.load();
  if (session == nullptr) {
    session = new Session(MakeServer(self), /*external_progress=*/false);
    g_library.session.store(session);
  }
  session->set_own_server(std::move(server));
  ++g_library.references;
}

int FinalizeLibrary(const pmix_info_t* info, size_t ninfo) {
  bool barrier = false;
  int rc = ParseFinalizeOptions(info, ninfo, &barrier);
  if (rc == PMIX_ERR_BAD_PARAM) return rc;
  const MutexLock lock(*g_library.mu);
  Session* session = g_library.session.load();
  if (session == nullptr) return PMIX_ERR_INIT;
  if (rc != PMIX_SUCCESS) return rc;
  if (g_library.references > 1) {
    --g_library.references;
    return PMIX_SUCCESS;
  }
  // Ending the session joins the progress thread, which is the calling thread.
  if (session->progress().InTask()) return PMIX_ERR_WOULD_BLOCK;
  // A failed barrier does not keep the process in its job.
  if (barrier) rc = Fence(*session, nullptr, 0, nullptr, 0);
  g_library.references = 0;
  EndSession();
  ReleaseTopologies();
  return rc;
}

void StopProgress(const pmix_info_t* info, size_t ninfo) {
  static auto* const one_at_a_time = new Mutex;
  if (!NamesOurThread(info, ninfo)) return;
  const ApiCall call;
  if (!call) return;
  Progress& progress = call.session().progress();
  // In a callback the call would wait for its own thread.
  if (progress.external() || progress.InTask()) return;
  const MutexLock lock(*one_at_a_time);
  progress.Stop();
}

bool LibraryInitialized() {
  return g_library.session.load(std::memory_order_acquire) != nullptr;
}

}  // namespace canopy::client
