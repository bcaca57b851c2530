// The messages among the processes of an invitation to a group: events, and
// time limits that their agent keeps. See docs/design/collectives.md, "Groups
// by invitation".
#ifndef CANOPY_CLIENT_SESSION_GROUP_INVITATION_EVENTS_H_
#define CANOPY_CLIENT_SESSION_GROUP_INVITATION_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "client/events/event.h"
#include "client/session/session.h"
#include "common/ids.h"
#include "common/local/collectives.h"
#include "common/values/info_list.h"
#include "pmix_common.h"

namespace canopy::client {

// The number of processes that one call may invite, which is the limit for the
// receivers of an event.
inline constexpr size_t kMaxInvited = 4096;

// Returns the processes of a set as a list, in ascending order.
std::vector<ProcId> ListOf(const std::set<ProcId>& procs);

// Returns the info of an event about that group. The event is not for default
// handlers.
InfoList About(const std::string& name);
// Returns the infos of About together with the members of the group.
InfoList MembersOf(const std::string& name, const std::vector<ProcId>& members);
// Returns the members that an event of MembersOf names.
std::vector<ProcId> MembersIn(const Event& event);

// Returns true for a directive that applies to the whole group as soon as one
// member has set it, and for a directive that limits the time of the construct.
bool IsOfGroup(const pmix_info_t& info);
// Returns the infos that are results of a construct and may be part of an
// event: the members, the context identifier and the name.
InfoList ResultsIn(const InfoList& infos);

// Subscribes to the events of groups that are being formed; called before this
// process sends or answers an invitation. The agent has kept the events that
// were raised before.
void WatchInvitations(Session& session);
// Subscribes to invitations too, because members of a bootstrap accept
// invitations without a handler of the program.
void WatchBootstraps(Session& session);

// Raises the event for `receivers` only. Ignores a lost connection, because the
// loss also ends the operations that wait for the answers.
void Tell(Session& session, pmix_status_t status,
          const std::vector<ProcId>& receivers, InfoList infos);

// Runs `what` on the progress thread after `timeout_ms`, unless the connection
// is lost before; never if `timeout_ms` is 0.
void After(Session& session, local::GroupStep step, const std::string& name,
           uint32_t timeout_ms, std::function<void()> what);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_INVITATION_EVENTS_H_
