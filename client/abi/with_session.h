// Helpers of the entry points of the C interface: they provide the session and
// report errors (docs/design/c_api.md).
#ifndef CANOPY_CLIENT_ABI_WITH_SESSION_H_
#define CANOPY_CLIENT_ABI_WITH_SESSION_H_

#include "client/abi/callback.h"
#include "client/session/lifecycle.h"
#include "pmix.h"

namespace canopy::client {

// Calls body(session), with the session kept alive; returns PMIX_ERR_INIT if
// the library is not initialised.
template <typename Body>
pmix_status_t WithSession(Body&& body) {
  const ApiCall call;
  if (!call) return PMIX_ERR_INIT;
  return body(call.session());
}

// Like WithSession, for a non-blocking call: its callback runs after the call
// has returned.
template <typename Body>
pmix_status_t WithSessionAsync(Body&& body) {
  const NonBlockingApiCall call;
  if (!call) return PMIX_ERR_INIT;
  return body(call.session());
}

// Makes a non-blocking call that passes its errors to the callback, because
// programs written with OpenPMIx wait for the callback even after an error.
// Four statuses are returned instead: PMIX_ERR_INIT, an error in `arguments`,
// PMIX_ERR_UNREACH and PMIX_ERR_NOT_SUPPORTED. If `callback` is null, all
// errors are returned. body(session, callback) returns an error only if it does
// not call the callback.
template <typename Callback, typename Body>
pmix_status_t WithCallback(pmix_status_t arguments, Callback callback,
                           void* cbdata, Body&& body) {
  const NonBlockingApiCall call;
  if (!call) return PMIX_ERR_INIT;
  if (arguments != PMIX_SUCCESS) return arguments;
  const pmix_status_t status = body(call.session(), OrIgnore(callback));
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED ||
      status == PMIX_ERR_UNREACH || status == PMIX_ERR_NOT_SUPPORTED ||
      callback == nullptr) {
    return status;
  }
  call.session().progress().Post([=] { Fail(callback, status, cbdata); });
  return PMIX_SUCCESS;
}

// Returns PMIX_ERR_BAD_PARAM unless `good`. Used for checks that need no
// session.
inline pmix_status_t BadUnless(bool good) {
  return good ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_WITH_SESSION_H_
