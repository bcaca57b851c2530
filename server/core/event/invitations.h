// Who has invited whom to a group. Invitations, answers and outcomes are events
// between the processes' libraries; an agent sees those that pass it, and tells
// the others when a process of this node, or a whole node, is gone before its
// group was formed. So it has nothing to persist: a successor gets the events
// again.
#ifndef CANOPY_SERVER_CORE_EVENT_INVITATIONS_H_
#define CANOPY_SERVER_CORE_EVENT_INVITATIONS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// Processes that are invited in all invitations an agent remembers; of more,
// the oldest are forgotten: nobody is told of ends then.
inline constexpr size_t kMaxInvited = size_t{64} << 10;
// Time limits that one client may have; more are refused (kErrOutOfResource).
inline constexpr size_t kMaxWaitsOfClient = 64;

// Not synchronised. The table outlives it.
class Invitations {
 public:
  explicit Invitations(const JobTable& jobs) : jobs_(jobs) {}

  // An event that this agent has not had before.
  void OnEvent(const EventMessage& event);
  // PMIX_GROUP_LEADER_FAILED, PMIX_GROUP_INVITE_FAILED: what is to be raised
  // when that process of this node has ended.
  std::vector<EventRaised> OnExit(const ProcId& proc);
  // The same for the processes of a node, for local clients alone: every agent
  // knows of the loss.
  std::vector<EventRaised> OnNodeLost(NodeId node);
  // Of processes of this node that had ended before they were invited, since
  // the last call.
  std::vector<EventRaised> TakeDue() { return std::exchange(due_, {}); }
  bool has_due() const { return !due_.empty(); }
  void OnJobRemoved(const std::string& nspace);

  // PMIx_Group_invite or PMIx_Group_join has a time limit: the answer,
  // kErrTimeout, comes when it has passed.
  void OnWait(TimeNs now, const GroupCallArrived& in, Actions* actions);
  void OnClientGone(ClientId client);
  void OnTick(TimeNs now, Actions* actions);
  TimeNs NextDeadline() const;

  size_t size() const { return invitations_.size(); }
  size_t num_waits() const { return waits_.size(); }

 private:
  struct Invitation {
    ProcId leader;
    std::string name;
    std::vector<ProcId> invited;  // as the leader named them
  };

  struct Wait {
    ClientId client = 0;
    RequestId request = 0;
    TimeNs since = 0;                  // from when on its limit counts
    std::vector<std::string> nspaces;  // of those that take part
  };

  bool ConcernsThisNode(const EventMessage& event) const;
  void NoteEnded(const EventMessage& event, const std::string& name);
  void Add(Invitation invitation);
  void Erase(const ProcId& leader, const std::string& name);
  NodeId NodeOf(const ProcId& proc) const;

  const JobTable& jobs_;
  std::deque<Invitation> invitations_;  // oldest first
  size_t num_invited_ = 0;
  std::vector<EventRaised> due_;
  std::multimap<TimeNs, Wait> waits_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_INVITATIONS_H_
