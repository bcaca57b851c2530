// The actions: everything that the core can request of its shell; see
// agent_core.h.
#ifndef CANOPY_SERVER_CORE_STEP_ACTION_H_
#define CANOPY_SERVER_CORE_STEP_ACTION_H_

#include <string>
#include <variant>
#include <vector>

#include "common/one_of.h"
#include "server/core/messages.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/clock.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/facts.h"
#include "server/core/step/host.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/process_actions.h"
#include "server/core/step/usage.h"

namespace canopy::core {

// Requests that the message be sent through the overlay. The message's `dst` is
// never this agent.
struct SendPeer {
  PeerMessage message;
};

// Requests that Step be called with a Tick at this time, which replaces the
// earlier deadline.
struct SetDeadline {
  TimeNs when = kNever;
};

// Requests that this agent end after it has flushed all messages sent before.
struct EndAgent {
  std::string reason;
};

struct AllActions {
  using Variant = std::variant<
      SendPeer, ReplyClient, ReleaseFence, NotifyClient, AskHost, CloseClient,
      ToolGone, RegisterJob, DropJob, PublishRank, SetIncarnation, JobHeld,
      AwaitCommit, PrepareLocal, StartLocal, RestartLocal, SignalLocal,
      KillLocal, ForgetLocal, CreditOutput, ResendOutput, PersistRecord,
      PersistControlState, FeedInput, SetDeadline, HostSpawn, JobChanged,
      JobElsewhere, DeliverOutput, OutputDelivered, InputConsumed,
      StateCollected, ReadFacts, UsageTaken, EndAgent, LogLine>;
};
using Action = OneOf<AllActions>;

// Actions in the order in which they must be executed.
using Actions = std::vector<Action>;

}  // namespace canopy::core

extern template class canopy::OneOf<canopy::core::AllActions>;

#endif  // CANOPY_SERVER_CORE_STEP_ACTION_H_
