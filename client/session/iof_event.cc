#include "client/session/iof_event.h"

#include "client/events/event.h"
#include "common/values/iof_failure.h"
#include "pmix.h"

namespace canopy::client {

void RaiseIofEvent(Session& session, int event, std::span<const ProcId> procs,
                   uint16_t channels, int why) {
  session.events().Raise(MakeEvent(event, session.self(), PMIX_RANGE_PROC_LOCAL,
                                   IofEventInfos(procs, channels, why)));
}

}  // namespace canopy::client
