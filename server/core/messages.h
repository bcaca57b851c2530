// Messages between agents about jobs, data and collectives. These are plain
// values: the overlay converts them to and from protos/overlay.proto.
#ifndef CANOPY_SERVER_CORE_MESSAGES_H_
#define CANOPY_SERVER_CORE_MESSAGES_H_

#include <variant>

#include "common/ids.h"
#include "common/one_of.h"
#include "server/core/message/collectives.h"
#include "server/core/message/events.h"
#include "server/core/message/facts.h"
#include "server/core/message/host.h"
#include "server/core/message/jobs.h"
#include "server/core/message/modex.h"
#include "server/core/message/publishing.h"
#include "server/core/message/streams.h"

namespace canopy::core {

// The order is that of the fields of Body in protos/overlay.proto, whose
// numbers begin with 1.
struct MessageBodies {
  using Variant = std::variant<
      CollectiveUp, CollectiveDown, DmodexRequest, DmodexReply, EventMessage,
      AbortMessage, JobPrepare, JobPrepared, JobStart, JobStarted, JobExits,
      JobSignal, JobKill, JobForget, OutputData, OutputCredit, InputData,
      InputCredit, StateQuery, StateReply, OverlayShutdown, JobQuery,
      JobQueryReply, SyncComplete, NodeLost, JobMapRequest, JobMapReply,
      AbortReply, SpawnRequest, SpawnReply, DirectoryStore, DirectoryRemove,
      DirectoryPull, DirectoryLookup, DirectoryLookupEnd, DirectoryFound,
      DirectoryClaim, DirectoryAnswer, RankRestarted, FactsRequest, FactsReply,
      HostRequest, HostReply>;
};
using MessageBody = OneOf<MessageBodies>;

// The overlay routes a message hop by hop. It sets `src` from the authenticated
// link or from a routed header, never from the sender's claim alone.
struct PeerMessage {
  NodeId src = kNoNode;
  NodeId dst = kNoNode;
  MessageBody body;
};

}  // namespace canopy::core

extern template class canopy::OneOf<canopy::core::MessageBodies>;

#endif  // CANOPY_SERVER_CORE_MESSAGES_H_
