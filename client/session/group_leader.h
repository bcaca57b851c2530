// The part of the process that has invited others to a group, or has taken the
// place of one that failed. Called on the progress thread.
#ifndef CANOPY_CLIENT_SESSION_GROUP_LEADER_H_
#define CANOPY_CLIENT_SESSION_GROUP_LEADER_H_

#include <string>

#include "client/events/event.h"
#include "client/session/group_invitations.h"
#include "client/session/session.h"
#include "common/values/info_list.h"

namespace canopy::client {

// In the answers of this library: it takes part in the construction that
// follows. Those of other libraries wait for its end alone.
inline constexpr char kOwnLibrary[] = "canopy.grp.own";

// Ends the invitation with `status`; whoever it still concerns is told.
void GiveUp(Session& session, const std::string& name, SentInvitation sent,
            int status);
// Makes the group when no answer is awaited any more.
void FormIfComplete(Session& session, const std::string& name);

// PMIX_GROUP_INVITE_ACCEPTED.
void OnAccepted(Session& session, const std::string& name, const Event& event);
// An invited process has declined or ended, and the handlers of that event have
// run, with `results`.
void OnMissing(Session& session, const std::string& name, const Event& event,
               const InfoList& results);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_LEADER_H_
