// The role of a process that has invited others to a group, or has taken the
// place of a leader that failed. Called on the progress thread.
#ifndef CANOPY_CLIENT_SESSION_GROUP_LEADER_H_
#define CANOPY_CLIENT_SESSION_GROUP_LEADER_H_

#include <string>

#include "client/events/event.h"
#include "client/session/group_invitations.h"
#include "client/session/session.h"
#include "common/values/info_list.h"

namespace canopy::client {

// A key in the answers of this library: the process takes part in the
// construction that follows. Processes with other libraries only wait for its
// end.
inline constexpr char kOwnLibrary[] = "canopy.grp.own";

// Keys of PMIX_GROUP_MEMBERSHIP_UPDATE of a leader that is not a member. With
// kReports it requests a report from every member; with kFormedStatus the event
// is such a report, with the status of the construct.
inline constexpr char kReports[] = "canopy.grp.reports";
inline constexpr char kFormedStatus[] = "canopy.grp.formed";

// Returns true if the directives let the group continue without members that
// decline or end.
bool IsTolerant(const InfoList& directives);
// Ends the invitation with `status` and notifies the processes concerned.
void GiveUp(Session& session, const std::string& name, SentInvitation sent,
            int status);
// Constructs the group when all answers have arrived.
void FormIfComplete(Session& session, const std::string& name);

// Handles PMIX_GROUP_INVITE_ACCEPTED.
void OnAccepted(Session& session, const std::string& name, const Event& event);
// Handles the first report of a member about the end of the construct.
void OnFormedBy(Session& session, const std::string& name, const Event& event);
// Called when an invited process has declined or ended. `results` are the
// results of the event's handlers.
void OnMissing(Session& session, const std::string& name, const Event& event,
               const InfoList& results);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_LEADER_H_
