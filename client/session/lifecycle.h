// The process's one session: from the first PMIx_Init to the last
// PMIx_Finalize.
#ifndef CANOPY_CLIENT_SESSION_LIFECYCLE_H_
#define CANOPY_CLIENT_SESSION_LIFECYCLE_H_

#include <cstddef>
#include <functional>
#include <optional>

#include "client/channel/progress.h"
#include "client/session/bootstrap.h"
#include "client/session/init_options.h"
#include "client/session/session.h"
#include "common/status.h"
#include "pmix.h"

namespace canopy::client {

// Finds the bootstrap of a process; called when it has no session.
using FindBootstrap = std::function<Result<Bootstrap>()>;

// Connects to the agent that the environment names. A process that was not
// launched becomes a job of its own.
Result<Bootstrap> FindAgent();
// Starts a session whose bootstrap `find` finds, for PMIx_tool_init.
int InitLibraryBy(const FindBootstrap& find, const InitOptions& options,
                  pmix_proc_t* proc);
// Implement PMIx_Init and PMIx_Finalize. Calls are counted. Any thread.
int InitLibrary(pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo);
int FinalizeLibrary(const pmix_info_t* info, size_t ninfo);
bool LibraryInitialized();

// Starts the session of a server (PMIx_server_init), which has no agent, or
// uses the existing session. Calls are counted together with those of
// InitLibrary; FinalizeLibrary ends the session.
void InitServerSession(const ProcId& self, Session::OwnServer server);
// Ends the progress thread (PMIx_Progress_thread_stop); callbacks that are due
// run first. The call has no effect within a callback, for a thread of another
// name, and if the program drives progress itself.
void StopProgress(const pmix_info_t* info, size_t ninfo);

// Keeps the session alive for the length of one API call. After a fork the
// child has no session, but it may initialise one of its own.
class ApiCall {
 public:
  ApiCall();
  ~ApiCall();
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  explicit operator bool() const { return session_ != nullptr; }
  Session& session() const { return *session_; }

 private:
  Session* session_;
};

// Like ApiCall, for a non-blocking call: no callback that the call causes runs
// before the call ends.
class NonBlockingApiCall {
 public:
  NonBlockingApiCall() {
    if (call_) pending_.emplace(&call_.session().progress());
  }

  explicit operator bool() const { return static_cast<bool>(call_); }
  Session& session() const { return call_.session(); }

 private:
  ApiCall call_;
  std::optional<Progress::Call> pending_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_LIFECYCLE_H_
