// Records pending group invitations. Invitations, answers and outcomes are
// events between the processes' libraries. The agent observes the events that
// pass it. If a process of this node, or a whole node, is gone before the group
// is formed, the agent notifies the leader of the loss of an invited process,
// and the invited processes of the loss of the leader. Nothing is persisted: a
// successor gets the events again.
#ifndef CANOPY_SERVER_CORE_EVENT_INVITATIONS_H_
#define CANOPY_SERVER_CORE_EVENT_INVITATIONS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Maximum number of invited processes in all invitations that an agent records.
// Beyond this, the oldest invitations are erased, and ends of their processes
// are not reported.
inline constexpr size_t kMaxInvited = size_t{64} << 10;
// Maximum number of timeouts that one client may have; more are refused
// (kErrOutOfResource).
inline constexpr size_t kMaxWaitsOfClient = 64;

// Not synchronised. `jobs` outlives this object. Times are in nanoseconds.
class Invitations final : public Engine {
 public:
  explicit Invitations(const JobTable& jobs) : jobs_(jobs) {}

  // Called once for each event that reaches this agent. Posts an EventDue for
  // each process of this node that had ended before its invitation arrived.
  void OnEvent(const EventMessage& event);
  // Called when a process of this node has ended. Returns the events to raise
  // (PMIX_GROUP_LEADER_FAILED or PMIX_GROUP_INVITE_FAILED). Their identities
  // depend only on the invitation and the process, as do those of the events
  // that OnEvent posts: a successor learns of both again.
  std::vector<EventRaised> OnExit(const ProcId& proc);
  // Does what OnExit does, for all processes of a lost node. Every agent learns
  // of the loss, so these events are for local clients only.
  std::vector<EventRaised> OnLoss(NodeId node);
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;

  // Handles a PMIx_Group_invite or PMIx_Group_join with a timeout: replies
  // kErrTimeout when the timeout has expired, or kErrOutOfResource at once if
  // the client has kMaxWaitsOfClient timeouts.
  void OnWait(const StepContext& step, const GroupCallArrived& in);
  void OnClientGone(const StepContext& step, ClientId client) override;
  void OnTick(const StepContext& step) override;
  TimeNs NextDeadline() const override;

  void Count(ResourceCounts* counts) const override {
    counts->deadlines += num_waits();
  }
  size_t size() const { return invitations_.size(); }
  size_t num_waits() const { return waits_.size(); }

 private:
  struct Invited {
    ProcId proc;           // as the leader named it
    uint64_t failure = 0;  // identity of the event about its end
  };
  struct Invitation {
    ProcId leader;
    std::string name;
    std::vector<Invited> invited;  // those of the latest event first

    std::vector<ProcId> Procs() const;
  };

  struct Wait {
    ClientId client = 0;
    RequestId request = 0;
    TimeNs since = 0;                  // time from which the timeout counts
    std::vector<std::string> nspaces;  // jobs of the processes that take part
  };

  bool ConcernsThisNode(const EventMessage& event) const;
  void NoteEnded(const EventMessage& event, const std::string& name) const;
  void Add(const EventMessage& event, const std::string& name);
  void Remove(const ProcId& proc, Invitation* invitation);
  void Erase(const ProcId& leader, const std::string& name);
  NodeId NodeOf(const ProcId& proc) const;

  const JobTable& jobs_;
  std::deque<Invitation> invitations_;  // oldest first
  size_t num_invited_ = 0;
  std::multimap<TimeNs, Wait> waits_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_INVITATIONS_H_
