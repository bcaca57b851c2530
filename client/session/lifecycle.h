// The process's one session: from the first PMIx_Init to the last
// PMIx_Finalize.
#ifndef CANOPY_CLIENT_SESSION_LIFECYCLE_H_
#define CANOPY_CLIENT_SESSION_LIFECYCLE_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// PMIx_Init and PMIx_Finalize. Counted; any thread.
int InitLibrary(pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo);
int FinalizeLibrary(const pmix_info_t* info, size_t ninfo);
bool LibraryInitialized();

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

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_LIFECYCLE_H_
