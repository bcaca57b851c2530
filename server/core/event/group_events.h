// Events about process groups, as their members receive them.
#ifndef CANOPY_SERVER_CORE_EVENT_GROUP_EVENTS_H_
#define CANOPY_SERVER_CORE_EVENT_GROUP_EVENTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/groups.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// Returns the event PMIX_GROUP_MEMBER_FAILED. Its target is the group's leader;
// if there is no leader or the leader itself failed, all other members.
EventRaised MemberFailed(const Group& group, const ProcId& member,
                         const JobTable& jobs);

// Returns the event PMIX_GROUP_LEFT for all other members. The event's identity
// contains that of the group, so other agents learn from the event which group
// the process has left.
EventRaised MemberLeft(const Group& group, const ProcId& process,
                       const JobTable& jobs);

// Identifies the group among all groups of its name; never 0.
uint64_t IdOfGroup(const Group& group);

struct LeftGroup {
  std::string name;
  uint64_t made = 0;  // as in the GroupRecord
};

// Returns the group that the event's source has left; no value for other
// events, including events with this code that a process has raised.
std::optional<LeftGroup> GroupLeft(const EventMessage& event);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_GROUP_EVENTS_H_
