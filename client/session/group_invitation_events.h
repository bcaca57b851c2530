// What the processes of an invitation to a group tell each other: events, and
// time limits that their agent keeps. docs/design/collectives.md, "Groups by
// invitation".
#ifndef CANOPY_CLIENT_SESSION_GROUP_INVITATION_EVENTS_H_
#define CANOPY_CLIENT_SESSION_GROUP_INVITATION_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "client/events/event.h"
#include "client/session/operation_numbers.h"
#include "client/session/session.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "pmix_common.h"

namespace canopy::client {

// Processes that one call may invite: as many as an event may have receivers.
inline constexpr size_t kMaxInvited = 4096;

std::vector<ProcId> ListOf(const std::set<ProcId>& procs);

// The info of an event about that group: not for default handlers.
InfoList About(const std::string& name);
// The same with its members.
InfoList MembersOf(const std::string& name, const std::vector<ProcId>& members);
// The members that such an event names.
std::vector<ProcId> MembersIn(const Event& event);

// Raises the event for `receivers` alone. A lost connection is no error here:
// it ends what waits for the answers.
void Tell(Session& session, pmix_status_t status,
          const std::vector<ProcId>& receivers, InfoList infos);

// Runs `what` on the progress thread after `timeout_ms` (0: never), unless the
// connection is lost before.
void After(Session& session, GroupCall call, const std::string& name,
           uint32_t timeout_ms, std::function<void()> what);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_INVITATION_EVENTS_H_
