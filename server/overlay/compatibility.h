// Versions of the overlay's protocol. An agent speaks the newest and the one
// before it; it can be made to behave as one of an older version, by which
// adjacent versions are tested in one overlay.
#ifndef CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_
#define CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_

#include <cstdint>

#include "server/overlay/frame.h"

namespace canopy::overlay {

// Newest and oldest protocol version that this agent speaks.
//   5  the first that is spoken still
//   6  messages of their own for what stood in others (version_5.h); each
//      member's version in MemberState
// A message is encoded in the version of the agent that it is for, whatever
// those speak that pass it on. An agent whose version is not known, because the
// news of it came through one that does not pass versions on, is sent version
// 5.
inline constexpr uint32_t kNewestVersion = 6;
inline constexpr uint32_t kOldestVersion = 5;
// The first version with JobQuery, JobQueryReply, SyncComplete, NodeLost,
// JobMapRequest, JobMapReply, AbortReply, SpawnRequest, SpawnReply,
// RankRestarted, FactsRequest, FactsReply, HostRequest, HostReply, the messages
// about publications, and process groups in those about collectives.
inline constexpr uint32_t kOwnMessages = 6;

// Sets fields introduced after `version` to the value that their absence means.
void RemoveNewerFields(uint32_t version, Frame* frame);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_
