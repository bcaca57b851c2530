// Versions of the overlay's protocol. An agent speaks the newest version and
// the one before it. For tests of adjacent versions in one overlay, an agent
// can be configured to behave as one of an older version.
#ifndef CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_
#define CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_

#include <cstdint>

#include "server/overlay/frame.h"

namespace canopy::overlay {

// Newest and oldest protocol version that this agent speaks.
//   5  the oldest version that is still spoken
//   6  separate messages for what was combined before (version_5.h); each
//      member's version in MemberState
//
// A message is encoded in the version of its destination, whatever the agents
// on its path speak. If the destination's version is unknown, because its state
// arrived through an agent that does not forward versions, the message is
// encoded in version 5.
inline constexpr uint32_t kNewestVersion = 6;
inline constexpr uint32_t kOldestVersion = 5;
// The first version with JobQuery, JobQueryReply, SyncComplete, NodeLost,
// JobMapRequest, JobMapReply, AbortReply, SpawnRequest, SpawnReply,
// RankRestarted, FactsRequest, FactsReply, HostRequest, HostReply, the messages
// about publications, and process groups in the messages about collectives.
inline constexpr uint32_t kOwnMessages = 6;

// Sets fields introduced after `version` to the value that an absent field has.
void RemoveNewerFields(uint32_t version, Frame* frame);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_
