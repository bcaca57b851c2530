// The messages of protocol version 6 in the forms of version 5, in which some
// messages served several purposes. Used only by translate; the core knows only
// the newest version.
//
//   version 6      version 5
//   JobQuery       JobExits without an exit
//   JobQueryReply  JobForget
//   SyncComplete   JobForget with sync_complete
//   NodeLost       JobExits with a wait status of -2 for each rank
//   JobMapRequest  DmodexRequest for rank wildcard, with a key for exists_only
//   JobMapReply    DmodexReply for rank wildcard
//   CollectiveUp and CollectiveDown of groups, DmodexRequest for a process
//   fact, Spawn..., Directory..., AbortReply, RankRestarted, Facts..., Host...
//                  no form: the sender's own agent answers requests
//                  (AnswerOfVersion5)
//
// Version 6 does not use the forms on the right, so they mean the messages on
// the left, whichever agent sends them. Only JobForget stays as it is: it has
// the same effect as a JobQueryReply.
#ifndef CANOPY_SERVER_OVERLAY_VERSION_5_H_
#define CANOPY_SERVER_OVERLAY_VERSION_5_H_

#include <optional>
#include <string>
#include <string_view>

#include "server/core/messages.h"
#include "server/overlay/proto_wire.h"

namespace canopy::overlay {

// Serialises the Body. Empty for messages without a form in version 5, and for
// those that version 5 would misunderstand and no core sends: JobExits without
// exits, exits with the wait status of a lost node (these are left out),
// NodeLost without ranks, and direct modex for rank wildcard.
std::string EncodeForVersion5(const core::MessageBody& body);

// The answer to a request that version 5 does not know: kErrNotSupported; for a
// process fact kErrNotFound; for an abort, which version 5 executes but does
// not answer, kSuccess. Nothing for any other message.
std::optional<core::MessageBody> AnswerOfVersion5(
    const core::MessageBody& body);

// Reads a JobForget, or the SyncComplete that it stands for. Returns false if
// it is malformed.
bool ReadJobForget(wire::ReadContext* context, std::string_view data,
                   core::MessageBody* body);

// Replaces any other form of version 5 by the message that it stands for. If it
// stands for two (exits and losses), returns the second; the first is the one
// that appears first.
std::optional<core::MessageBody> TranslateFromVersion5(core::MessageBody* body);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_VERSION_5_H_
