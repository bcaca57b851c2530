// Reports the ends of processes and nodes to others, as events.
#ifndef CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_
#define CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_

#include <cstdint>
#include <functional>
#include <string>

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
  // The agent that controls a job that is known here.
  using ControllerOf = std::function<NodeId(const std::string& nspace)>;

  EndEvents(NodeId self, const JobTable& jobs, const Collectives& collectives,
            Events& events, Invitations& invitations,
            ControllerOf controller_of);

  // A process of this node has ended. Where another one follows, that is what
  // its job is told, if it asks. `told`: it was told to end, alone or with its
  // job.
  void OnExit(TimeNs now, const Job& job, const ProcExit& exit, bool told,
              Actions* actions);
  // No process of the job could be started here.
  void OnNoneStarted(TimeNs now, const Job& job, Actions* actions);
  // The group was constructed here without some of its participants.
  void OnIncomplete(TimeNs now, const Group& group, Actions* actions);
  // The leader is told who is missing.
  void OnFailed(TimeNs now, const FailedConstruct& construct, Actions* actions);
  // Every agent learns of the loss, so each notifies its own clients; the end
  // of the processes goes to others from the agent that controls their job.
  void OnNodeLost(TimeNs now, NodeId node, Actions* actions);

 private:
  void Announce(TimeNs now, const Job& job, const ProcExit& exit, bool told,
                Actions* actions);
  void AnnounceEnd(TimeNs now, const Job& job, const ProcExit& exit, int code,
                   const int* exit_code, Actions* actions);
  void NotifyJob(TimeNs now, const Job& job, const ProcExit& exit,
                 Actions* actions);
  void NotifyConnected(TimeNs now, const ProcId& proc, const ProcExit& exit,
                       Actions* actions);
  void NotifyGroups(TimeNs now, const ProcId& proc, const ProcExit& exit,
                    Actions* actions);
  void NotifyInvited(TimeNs now, const Job& job, const ProcExit& exit,
                     Actions* actions);
  void OnMemberLost(TimeNs now, const ProcId& proc, Actions* actions);
  void OnProcLost(TimeNs now, const Job& job, Rank rank, Actions* actions);
  void OnControllerLost(TimeNs now, const Job& job, Actions* actions);

  const NodeId self_;
  const JobTable& jobs_;
  const Collectives& collectives_;
  Events& events_;
  Invitations& invitations_;
  const ControllerOf controller_of_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_
