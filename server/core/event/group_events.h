// Events about process groups, as their members get them.
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

// PMIX_GROUP_MEMBER_FAILED, for the group's leader or, without one, or of the
// leader itself, all others.
EventRaised MemberFailed(const Group& group, const ProcId& member,
                         const JobTable& jobs);

// PMIX_GROUP_LEFT, for all other members. The event's identity has the
// group's, by which other agents learn of it.
EventRaised MemberLeft(const Group& group, const ProcId& process,
                       const JobTable& jobs);

// Tells the group from all others, and is never 0.
uint64_t IdOfGroup(const Group& group);

struct LeftGroup {
  std::string name;
  uint64_t made = 0;  // as in its GroupRecord
};

// The group that the event says its source has left. Nothing for any other
// event, also for one with that code that a process has raised.
std::optional<LeftGroup> GroupLeft(const EventMessage& event);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_GROUP_EVENTS_H_
