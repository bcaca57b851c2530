// The role of a process that has accepted an invitation to a group. Called on
// the progress thread.
#ifndef CANOPY_CLIENT_SESSION_GROUP_JOINER_H_
#define CANOPY_CLIENT_SESSION_GROUP_JOINER_H_

#include <string>

#include "client/events/event.h"
#include "client/session/session.h"
#include "common/ids.h"
#include "common/values/info_list.h"

namespace canopy::client {

// Notifies the leader that this process accepts.
void Accept(Session& session, const std::string& name, const ProcId& leader);
// Handles the recorded end of an invitation that this process accepts late.
void TakeUpEnd(Session& session, const std::string& name, const ProcId& leader);

// Handles PMIX_GROUP_MEMBERSHIP_UPDATE: all have accepted and construct the
// group.
void OnMembers(Session& session, const std::string& name, const Event& event);
// Handles PMIX_GROUP_CONSTRUCT_COMPLETE, which alone makes a group that has
// processes with another library.
void OnComplete(Session& session, const std::string& name, const Event& event);
// Handles PMIX_GROUP_CONSTRUCT_ABORT.
void OnAbort(Session& session, const std::string& name, const Event& event);
// Handles PMIX_GROUP_LEADER_FAILED after the program's handlers have run,
// because a handler may have offered to lead.
void OnLeaderFailed(Session& session, const std::string& name,
                    const Event& event, const InfoList& results);
// Handles PMIX_GROUP_LEADER_SELECTED. If several processes offer to lead, the
// lowest in the order of processes becomes the leader.
void OnSelected(Session& session, const std::string& name, const Event& event);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_JOINER_H_
