// The blocking forms of calls that form a group by events: they wait for the
// end of the non-blocking form.
#ifndef CANOPY_CLIENT_SESSION_GROUP_AWAIT_H_
#define CANOPY_CLIENT_SESSION_GROUP_AWAIT_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "client/session/group_invitations.h"
#include "client/session/session.h"
#include "common/mutex.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// Returns a GroupDone that calls `cbfunc`, whose arguments live until it
// returns.
inline GroupDone CallBack(pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return [cbfunc, cbdata](int status, InfoList results) {
    cbfunc(status, results.mutable_data(), results.size(), cbdata, nullptr,
           nullptr);
  };
}

// Starts an operation with `begin`, which gets a GroupDone, and waits for its
// end. The caller frees the results; either pointer may be null. Returns the
// operation's status, or PMIX_ERR_INVALID_OPERATION in a callback.
template <typename Begin>
int AwaitGroup(Session& session, Begin begin, pmix_info_t** results,
               size_t* nresults) {
  struct Waiting {
    Mutex mu;
    CondVar ended;
    std::optional<int> status CANOPY_GUARDED_BY(mu);
    InfoList results CANOPY_GUARDED_BY(mu);
  };
  if (results != nullptr) *results = nullptr;
  if (nresults != nullptr) *nresults = 0;
  if (session.progress().InTask()) return PMIX_ERR_INVALID_OPERATION;
  const auto waiting = std::make_shared<Waiting>();
  const int rc = begin([waiting](int status, const InfoList& infos) {
    const MutexLock lock(waiting->mu);
    waiting->status = status;
    waiting->results = infos;
    waiting->ended.NotifyAll();
  });
  if (rc != PMIX_SUCCESS) return rc;
  for (;;) {
    // If the program drives progress itself, this thread must do so while it
    // waits.
    session.progress().RunPending();
    const MutexLock lock(waiting->mu);
    if (!waiting->status) {
      (void)waiting->ended.WaitUntil(
          waiting->mu,
          std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
    }
    if (!waiting->status) {
      if (session.job_channel()->lost()) return PMIX_ERR_LOST_CONNECTION;
      continue;
    }
    if (results != nullptr && nresults != nullptr) {
      *results = waiting->results.Release(nresults);
    }
    return *waiting->status;
  }
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_AWAIT_H_
