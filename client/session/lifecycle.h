// The process's one session: from the first PMIx_Init to the last
// PMIx_Finalize.
#ifndef CANOPY_CLIENT_SESSION_LIFECYCLE_H_
#define CANOPY_CLIENT_SESSION_LIFECYCLE_H_

#include <cstddef>
#include <optional>

#include "client/channel/progress.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// PMIx_Init and PMIx_Finalize. Counted; any thread.
int InitLibrary(pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo);
int FinalizeLibrary(const pmix_info_t* info, size_t ninfo);
bool LibraryInitialized();
// PMIx_Progress_thread_stop: callbacks that are due run first. No effect within
// a callback, for a thread of another name, and where the program drives
// progress itself.
void StopProgress(const pmix_info_t* info, size_t ninfo);

// Keeps the session alive for the length of one API call. After a fork the
// child has no session: it may initialise one of its own.
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

// The same for a non-blocking one: no callback that it causes runs before its
// end.
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
