// Reports the ends of processes to others, as events.
#ifndef CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_
#define CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_

#include "common/ids.h"
#include "server/core/collective/collective.h"
#include "server/core/event/events.h"
#include "server/core/event/invitations.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// Not synchronised. What it refers to outlives it.
class EndEvents {
 public:
  EndEvents(const JobTable& jobs, const Collectives& collectives,
            Events& events, Invitations& invitations);

  // A process of this node has ended while its job runs. Where another one
  // follows, that is what its job is told, if it asks.
  void OnExit(TimeNs now, const Job& job, const ProcExit& exit,
              Actions* actions);
  // The group was constructed here without some of its participants.
  void OnIncomplete(TimeNs now, const Group& group, Actions* actions);
  // The leader is told who is missing.
  void OnFailed(TimeNs now, const FailedConstruct& construct, Actions* actions);
  // Every agent learns of the loss, so each notifies its own clients.
  void OnNodeLost(TimeNs now, NodeId node, Actions* actions);

 private:
  void NotifyJob(TimeNs now, const Job& job, const ProcExit& exit,
                 Actions* actions);
  void NotifyConnected(TimeNs now, const ProcId& proc, const ProcExit& exit,
                       Actions* actions);
  void NotifyGroups(TimeNs now, const ProcId& proc, const ProcExit& exit,
                    Actions* actions);
  void NotifyInvited(TimeNs now, const ProcId& proc, const ProcExit& exit,
                     Actions* actions);
  void OnMemberLost(TimeNs now, const ProcId& proc, Actions* actions);

  const JobTable& jobs_;
  const Collectives& collectives_;
  Events& events_;
  Invitations& invitations_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_
