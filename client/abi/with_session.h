// How an entry point of the C interface gets at the session.
#ifndef CANOPY_CLIENT_ABI_WITH_SESSION_H_
#define CANOPY_CLIENT_ABI_WITH_SESSION_H_

#include "client/session/lifecycle.h"
#include "pmix.h"

namespace canopy::client {

// body(session), which stays alive meanwhile; PMIX_ERR_INIT when the library
// is not initialised.
template <typename Body>
pmix_status_t WithSession(Body&& body) {
  const ApiCall call;
  if (!call) return PMIX_ERR_INIT;
  return body(call.session());
}

// The same for a non-blocking call, whose callback runs after it has returned.
template <typename Body>
pmix_status_t WithSessionAsync(Body&& body) {
  const NonBlockingApiCall call;
  if (!call) return PMIX_ERR_INIT;
  return body(call.session());
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_WITH_SESSION_H_
