// Event handlers and notifications on a session.
#ifndef CANOPY_CLIENT_SESSION_EVENT_OP_H_
#define CANOPY_CLIENT_SESSION_EVENT_OP_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

struct Registration {
  const pmix_status_t* codes = nullptr;
  size_t ncodes = 0;
  const pmix_info_t* info = nullptr;
  size_t ninfo = 0;
  pmix_notification_fn_t function = nullptr;
};

// RegisterHandler blocks until the handler is registered, and returns its
// reference (0 or more) or a negative PMIx status. RegisterHandlerAsync calls
// `cbfunc` with the status and the reference, unless it returns an error.
int RegisterHandler(Session& session, const Registration& registration);
int RegisterHandlerAsync(Session& session, const Registration& registration,
                         pmix_hdlr_reg_cbfunc_t cbfunc, void* cbdata);

// Removes a handler. If `cbfunc` is null, the handler is removed when this call
// returns.
int DeregisterHandler(Session& session, size_t reference,
                      pmix_op_cbfunc_t cbfunc, void* cbdata);

struct Notification {
  pmix_status_t status = 0;
  const pmix_proc_t* source = nullptr;  // null: the caller
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  const pmix_info_t* info = nullptr;
  size_t ninfo = 0;
  bool within_job = false;  // sent through the server of this process's job
};

// Sends the event through the primary server. If `cbfunc` is null, the agent
// has accepted the event when this call returns.
int NotifyEvent(Session& session, const Notification& notification,
                pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_EVENT_OP_H_
