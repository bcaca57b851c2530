// Events about the forwarding that this process has requested.
#ifndef CANOPY_CLIENT_SESSION_IOF_EVENT_H_
#define CANOPY_CLIENT_SESSION_IOF_EVENT_H_

#include <cstdint>
#include <span>

#include "client/session/session.h"
#include "common/ids.h"

namespace canopy::client {

// Raises `event`, PMIX_ERR_IOF_FAILURE or PMIX_ERR_IOF_COMPLETE, for the
// handlers of this process alone (IofEventInfos). Any thread.
void RaiseIofEvent(Session& session, int event, std::span<const ProcId> procs,
                   uint16_t channels, int why);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_IOF_EVENT_H_
