// Reports the ends of processes and the losses of nodes as events.
#ifndef CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_
#define CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/ids.h"
#include "server/core/collective/collective.h"
#include "server/core/core_config.h"
#include "server/core/engine.h"
#include "server/core/event/events.h"
#include "server/core/event/invitations.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Not synchronised. The references passed to the constructor outlive this
// object.
class EndEvents final : public Engine {
 public:
  // Returns the agent that controls the job, which must be known to this agent.
  using ControllerOf = std::function<NodeId(const std::string& nspace)>;

  EndEvents(const CoreConfig& config, const JobTable& jobs,
            const Collectives& collectives, Events& events,
            Invitations& invitations, ControllerOf controller_of);

  // Called when a process of this node has ended. If its rank will be
  // restarted, its job gets an event that only handlers of the code receive.
  // `told` is true if the process was ended on request, alone or with its job.
  void OnExit(const StepContext& step, const Job& job, const ProcExit& exit,
              bool told);
  // Called when no process of the job could be started on this node.
  void OnNoneStarted(const StepContext& step, const Job& job);
  // Called when a group was constructed at this agent without some of its
  // participants.
  void OnIncomplete(const StepContext& step, const Group& group);
  // Reports the missing participants of a failed construct to the leader of the
  // group.
  void OnFailed(const StepContext& step, const FailedConstruct& construct);
  // Notifies the clients of this agent of a lost node, and of the losses of
  // processes and controllers that follow. Every agent learns of the loss and
  // does the same. The controllers of the jobs announce the ends of the node's
  // processes.
  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;

 private:
  void Announce(const StepContext& step, const Job& job, const ProcExit& exit,
                bool told);
  void AnnounceEnd(const StepContext& step, const Job& job,
                   const ProcExit& exit, int code, const int* exit_code);
  void NotifyJob(const StepContext& step, const Job& job, const ProcExit& exit);
  void NotifyConnected(const StepContext& step, const ProcId& proc,
                       const ProcExit& exit);
  void NotifyGroups(const StepContext& step, const ProcId& proc,
                    const ProcExit& exit);
  void NotifyInvited(const StepContext& step, const Job& job,
                     const ProcExit& exit);
  void ReportNode(const StepContext& step, const NodeStateChanged& in);
  void OnMemberLost(const StepContext& step, const ProcId& proc);
  void OnProcLost(const StepContext& step, const Job& job, Rank rank);
  void OnControllerLost(const StepContext& step, const Job& job);

  const CoreConfig& config_;
  const JobTable& jobs_;
  const Collectives& collectives_;
  Events& events_;
  Invitations& invitations_;
  const ControllerOf controller_of_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_END_EVENTS_H_
