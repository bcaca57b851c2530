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

// Blocking: the reference (0 or more), or a negative PMIX status.
int RegisterHandler(Session& session, const Registration& registration);
int RegisterHandlerAsync(Session& session, const Registration& registration,
                         pmix_hdlr_reg_cbfunc_t cbfunc, void* cbdata);

// `cbfunc` may be null: then the handler is removed on return.
int DeregisterHandler(Session& session, size_t reference,
                      pmix_op_cbfunc_t cbfunc, void* cbdata);

struct Notification {
  pmix_status_t status = 0;
  const pmix_proc_t* source = nullptr;  // null: the caller
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  const pmix_info_t* info = nullptr;
  size_t ninfo = 0;
  bool within_job = false;  // through the server of this process's job
};

// By the primary server. `cbfunc` may be null: then the agent has taken the
// event on return.
int NotifyEvent(Session& session, const Notification& notification,
                pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_EVENT_OP_H_
