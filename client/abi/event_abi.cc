// C entry points for event handlers and notifications.

#include <cstddef>

#include "client/abi/with_session.h"
#include "client/session/event_op.h"
#include "pmix.h"

using canopy::client::Notification;
using canopy::client::Registration;
using canopy::client::Session;
using canopy::client::WithCallback;
using canopy::client::WithSession;

namespace {

// Calls `body` as a non-blocking call if there is a callback, otherwise as a
// blocking call.
template <typename Body>
pmix_status_t WithOrWithoutCallback(pmix_op_cbfunc_t cbfunc, void* cbdata,
                                    Body&& body) {
  if (cbfunc != nullptr) {
    return WithCallback(PMIX_SUCCESS, cbfunc, cbdata, body);
  }
  return WithSession([&](Session& session) { return body(session, nullptr); });
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t ncodes,
                                          pmix_info_t info[], size_t ninfo,
                                          pmix_notification_fn_t evhdlr,
                                          pmix_hdlr_reg_cbfunc_t cbfunc,
                                          void* cbdata) {
  const Registration registration{codes, ncodes, info, ninfo, evhdlr};
  if (cbfunc == nullptr) {
    return WithSession([&](Session& session) {
      return canopy::client::RegisterHandler(session, registration);
    });
  }
  return WithCallback(PMIX_SUCCESS, cbfunc, cbdata,
                      [&](Session& session, pmix_hdlr_reg_cbfunc_t answer) {
                        return canopy::client::RegisterHandlerAsync(
                            session, registration, answer, cbdata);
                      });
}

pmix_status_t PMIx_Deregister_event_handler(size_t evhdlr_ref,
                                            pmix_op_cbfunc_t cbfunc,
                                            void* cbdata) {
  return WithOrWithoutCallback(cbfunc, cbdata,
                               [&](Session& session, pmix_op_cbfunc_t answer) {
                                 return canopy::client::DeregisterHandler(
                                     session, evhdlr_ref, answer, cbdata);
                               });
}

pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t* source,
                                pmix_data_range_t range,
                                const pmix_info_t info[], size_t ninfo,
                                pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return WithOrWithoutCallback(
      cbfunc, cbdata, [&](Session& session, pmix_op_cbfunc_t answer) {
        const Notification event{status, source, range, info, ninfo};
        return canopy::client::NotifyEvent(session, event, answer, cbdata);
      });
}

}  // extern "C"
