// The messages of protocol version 6 in the forms of version 5, in which some
// messages stood for several things. Used by translate only; the core knows the
// newest version alone.
//
//   version 6      version 5
//   JobQuery       JobExits without an exit
//   JobQueryReply  JobForget
//   SyncComplete   JobForget with sync_complete
//   NodeLost       JobExits with a wait status of -2 for each rank
//   JobMapRequest  DmodexRequest for rank wildcard, with a key for exists_only
//   JobMapReply    DmodexReply for rank wildcard
//   CollectiveUp and CollectiveDown of groups, DmodexRequest for a process
//   fact, Spawn..., Directory..., AbortReply, RankRestarted
//                  none: what asks for an answer gets it from its own agent
//                  (AnswerOfVersion5)
//
// Version 6 does not use the forms on the right, so that they mean the messages
// on the left whoever sends them. A JobForget stays one: it says as much as a
// JobQueryReply does.
#ifndef CANOPY_SERVER_OVERLAY_VERSION_5_H_
#define CANOPY_SERVER_OVERLAY_VERSION_5_H_

#include <optional>
#include <string>
#include <string_view>

#include "server/core/messages.h"
#include "server/overlay/proto_wire.h"

namespace canopy::overlay {

// The serialised Body. Empty for what version 5 would take for something else,
// and no core sends: JobExits without exits, exits with the wait status of a
// lost node (these are left out), NodeLost without ranks, and direct modex for
// rank wildcard; and for what version 5 has nothing for.
std::string EncodeForVersion5(const core::MessageBody& body);

// The answer to a request that version 5 has none for: that it is not
// supported, or, to an abort, which is executed there as well, that it was
// done. Nothing for any other message.
std::optional<core::MessageBody> AnswerOfVersion5(
    const core::MessageBody& body);

// Reads a JobForget, or the SyncComplete that it stands for. False: malformed.
bool ReadJobForget(wire::ReadContext* context, std::string_view data,
                   core::MessageBody* body);

// Replaces any other form of version 5 by what it stands for. Returns a second
// message when it stands for two: exits and losses, in the order of the first
// of each.
std::optional<core::MessageBody> TranslateFromVersion5(core::MessageBody* body);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_VERSION_5_H_
