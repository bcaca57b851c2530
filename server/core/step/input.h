// All inputs of the core; see agent_core.h.
#ifndef CANOPY_SERVER_CORE_STEP_INPUT_H_
#define CANOPY_SERVER_CORE_STEP_INPUT_H_

#include <variant>

#include "common/one_of.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/facts.h"
#include "server/core/step/host.h"
#include "server/core/step/peer_inputs.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/process_inputs.h"
#include "server/core/step/usage.h"

namespace canopy::core {

// Time has passed. Sent when the deadline of a SetDeadline is due.
struct Tick {};

struct AllInputs {
  using Variant = std::variant<
      ClientConnected, ClientGone, Committed, CommitTaken, CollectiveArrived,
      LocalFenceArrived, GroupCallArrived, GetArrived, AbortArrived,
      HostCallArrived, PublishArrived, LookupArrived, UnpublishArrived,
      SpawnArrived, QueryArrived, FinalizeArrived, EventsWanted, EventsUnwanted,
      EventRaised, PeerArrived, MemberAdded, MemberServes, NodeStateChanged,
      NodeRestarted, JobRecovered, ClientReattached, LauncherReattached,
      LocalPrepared, LocalStarted, LocalProcesses, LocalExits, FactsRead,
      UsageWanted, HostAnswered, LocalOutput, LocalInputDone, LaunchRequested,
      SpawnDone, SpawnRecovered, SignalRequested, KillRequested, TimeLimitSet,
      OutputConsumed, InputOffered, StateRequested, ShutdownRequested, Tick>;
};
using Input = OneOf<AllInputs>;

}  // namespace canopy::core

extern template class canopy::OneOf<canopy::core::AllInputs>;

#endif  // CANOPY_SERVER_CORE_STEP_INPUT_H_
