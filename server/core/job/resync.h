// Divergent views and resynchronisation: which jobs are over that this agent
// does not know, and messages that come before this agent sees their sender as
// its parent.
#ifndef CANOPY_SERVER_CORE_JOB_RESYNC_H_
#define CANOPY_SERVER_CORE_JOB_RESYNC_H_

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job/step.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/tree.h"

namespace canopy::core {

// Resynchronisation timeout: how long an agent that rejoined or was recovered
// waits for the other agents' state before it is authoritative. Agents that
// send SyncComplete end the wait earlier.
inline constexpr TimeNs kResyncTimeout = 10'000'000'000;

// Namespaces of jobs that are over here, the last thousand: a late message does
// not start them again.
class RecentJobs {
 public:
  void Add(const std::string& nspace);
  bool Contains(const std::string& nspace) const;
  void Clear() { names_.clear(); }

 private:
  std::deque<std::string> names_;
};

// The namespace of a message that is deferred when the part that it is for is
// not here yet; null for all others.
const std::string* DeferrableNspace(const MessageBody& body);

// Not synchronised. The caller has updated the tree before it reports changes.
class JobResync {
 public:
  JobResync(NodeId self, const Tree& tree) : self_(self), tree_(tree) {}

  // ------------------------------------------------- who knows which jobs ---

  // This agent was started at that time while other agents may know of jobs.
  void Begin(TimeNs when);
  // Whether a job unknown here is unknown everywhere: this agent is the
  // confirmed root and resynchronised.
  bool IsAuthoritative() const;
  // Not seen since this agent was partitioned from all others, so that it may
  // have been alive all the time.
  bool IsUnconfirmed(NodeId node) const {
    return unconfirmed_members_.contains(node);
  }
  // Before the jobs deal with the loss; Release follows.
  void OnNodeLost(NodeId node);
  void OnNodeReturned(TimeNs now);
  void OnSyncComplete(const JobStep& step, NodeId src);
  // To a root that rejoined or was restarted: it has been sent all jobs that
  // concern it. Other agents are not authoritative and need no word.
  void SendSyncComplete(NodeId node, Actions* actions) const;
  void OnTick(const JobStep& step);
  // When OnTick wants to be called next; kNever when it does not.
  TimeNs NextDeadline() const;

  // ---------------------------------------------------- jobs unknown here ---

  // The job has ended everywhere.
  void MarkEnded(const std::string& nspace) { ended_.Add(nspace); }
  bool HasEnded(const std::string& nspace) const {
    return ended_.Contains(nspace);
  }
  // `src` addresses this agent about a job that it does not know: it is
  // answered, now or when the root has answered this agent.
  void OnUnknown(const JobStep& step, NodeId src, const std::string& nspace);
  // The job is over: answers those who inquired.
  void AnswerInquirers(const JobStep& step, const JobQueryReply& reply);
  // The job is known from here on: those who inquired about it.
  std::set<NodeId> TakeInquirers(const std::string& nspace);
  // Queries are repeated to a successor that has none of them.
  void OnNodeRestarted(const JobStep& step, NodeId node) const;

  // ---------------------------------------------------- deferred messages ---

  // A part in a job is assigned by the parent. When the sender is not the
  // parent in this agent's view, the views have not converged yet.
  bool DefersPrepare(NodeId src, NodeId controller) const;
  void DeferPrepare(const JobStep& step, NodeId src, const std::string& nspace,
                    const JobPrepare& m);
  // Whether the message follows a deferred JobPrepare: it is deferred, too.
  bool Defer(const PeerMessage& message);
  // The part is here.
  void Undefer(const std::string& nspace) { deferred_.erase(nspace); }
  // The views may have converged: queries are repeated, and deferred messages
  // released.
  void Release(const JobStep& step);
  // Messages released since the last call, in order.
  std::vector<PeerMessage> TakeReleased();

  // Jobs of which it holds something.
  size_t size() const {
    return deferred_.size() + inquirers_.size() + released_.size();
  }

 private:
  bool MarkSynced(NodeId node);

  const NodeId self_;
  const Tree& tree_;
  // Agents that addressed this one about jobs unknown here, by job.
  std::map<std::string, std::set<NodeId>> inquirers_;
  std::set<NodeId> unconfirmed_members_;
  // When the remaining ones count as lost.
  TimeNs confirm_deadline_ = kNever;
  // Agents that have not completed their resynchronisation with this new agent:
  // jobs may run for which it only forwards messages.
  std::set<NodeId> unsynced_members_;
  // When the remaining ones count as resynchronised.
  TimeNs resync_deadline_ = kNever;
  RecentJobs ended_;
  // By job: the JobPrepare first, then what followed from the same agent.
  std::map<std::string, std::vector<std::pair<NodeId, MessageBody>>> deferred_;
  std::vector<PeerMessage> released_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RESYNC_H_
