// Divergent views and resynchronisation: decides whether a job that this agent
// does not know is over, and defers messages whose sender is not yet the parent
// in this agent's view of the tree.
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
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// Resynchronisation timeout: how long an agent that has rejoined or was
// recovered waits for the other agents' state before it is authoritative. It
// stops waiting for an agent that has sent SyncComplete.
inline constexpr TimeNs kResyncTimeout = 10'000'000'000;

// The namespaces of the last 1024 jobs that are over at this agent, so that a
// late message does not start a job again.
class RecentJobs {
 public:
  void Add(const std::string& nspace);
  bool Contains(const std::string& nspace) const;
  void Clear() { names_.clear(); }

 private:
  std::deque<std::string> names_;
};

// Returns the namespace of a message that is deferred if this agent does not
// have the part that it addresses yet; null for all other messages.
const std::string* DeferrableNspace(const MessageBody& body);

// Only the controller knows that a job has ended. An agent that gets a message
// about an unknown job therefore cannot decide whether the job is over or has
// not begun. It sends the root a JobQuery and keeps the sender as an inquirer.
// The root answers "no record" only while it is authoritative: all members have
// completed their resynchronisation with it, and no member with a lower id may
// have been alive without being seen. A JobPrepare from an agent that is not
// (yet) the parent is deferred together with the messages that follow it, until
// the views of the tree converge.
//
// Not synchronised. `tree` outlives this object, and the caller updates it
// before it reports a change.
class JobResync {
 public:
  // `jobs`, if not null, outlives this object. It has the jobs whose maps this
  // agent has borrowed from their controllers.
  JobResync(NodeId self, const Tree& tree, const JobTable* jobs = nullptr)
      : self_(self), tree_(tree), jobs_(jobs) {}

  // ------------------------------------------------- who knows which jobs ---

  // Begins the resynchronisation of an agent that was started at `when`, while
  // other agents may know of jobs.
  void Begin(TimeNs when);
  // Returns whether a job that is unknown to this agent is unknown everywhere.
  // This is so if the agent is the confirmed root and has completed its
  // resynchronisation.
  bool IsAuthoritative() const;
  // Returns whether the node has not been seen since this agent was partitioned
  // from all others. Such a node may have been alive all the time.
  bool IsUnconfirmed(NodeId node) const {
    return unconfirmed_members_.contains(node);
  }
  // Must be called before the jobs handle the loss. The caller calls Release
  // afterwards.
  void OnNodeLost(NodeId node);
  void OnNodeReturned(TimeNs now);
  void OnSyncComplete(const JobStep& step, NodeId src);
  // Reports to a root that rejoined or was restarted that this agent has sent
  // it all jobs that concern it. Other agents are never authoritative and get
  // no message.
  void SendSyncComplete(const StepContext& step, NodeId node) const;
  void OnTick(const JobStep& step);
  // Returns when OnTick must be called next, or kNever.
  TimeNs NextDeadline() const;

  // ---------------------------------------------------- jobs unknown here ---

  // Records that the job has ended everywhere.
  void MarkEnded(const std::string& nspace) { ended_.Add(nspace); }
  bool HasEnded(const std::string& nspace) const {
    return ended_.Contains(nspace);
  }
  // Called if `src` has sent a message about a job that is unknown to this
  // agent. `src` gets an answer now, or when the root has answered this agent.
  void OnUnknown(const JobStep& step, NodeId src, const std::string& nspace);
  // Forwards the reply about a job to its inquirers.
  void AnswerInquirers(const JobStep& step, const JobQueryReply& reply);
  // Called when the job's map was removed from the table. Its inquirers get an
  // answer if this agent is authoritative.
  void OnJobRemoved(const JobStep& step, const std::string& nspace);
  // Removes and returns the job's inquirers. Called when the job becomes known.
  std::set<NodeId> TakeInquirers(const std::string& nspace);
  // Repeats queries to a restarted agent, which has lost them.
  void OnNodeRestarted(const JobStep& step, NodeId node) const;

  // ---------------------------------------------------- deferred messages ---

  // Returns whether a JobPrepare from `src` must be deferred: parts are
  // assigned by the parent, and `src` is not the parent in this agent's view.
  bool DefersPrepare(NodeId src, NodeId controller) const;
  void DeferPrepare(const JobStep& step, NodeId src, const std::string& nspace,
                    const JobPrepare& m);
  // Returns whether the message was deferred, because it follows a deferred
  // JobPrepare.
  bool Defer(const PeerMessage& message);
  // Drops the messages that are deferred for the job. Called when this agent
  // has the part.
  void Undefer(const std::string& nspace) { deferred_.erase(nspace); }
  // Called when the views may have converged. Repeats the queries, and posts
  // the deferred messages (MessagesReleased).
  void Release(const JobStep& step);

  // Returns the number of jobs with deferred messages plus the number of jobs
  // with inquirers.
  size_t size() const { return deferred_.size() + inquirers_.size(); }

 private:
  bool MarkSynced(NodeId node);
  // Returns whether another living agent than `src` controls the job and has
  // sent this agent its map.
  bool IsElsewhere(const std::string& nspace, NodeId src) const;

  const NodeId self_;
  const Tree& tree_;
  const JobTable* const jobs_;
  // By job, the agents that sent messages about a job that is unknown to this
  // agent.
  std::map<std::string, std::set<NodeId>> inquirers_;
  std::set<NodeId> unconfirmed_members_;
  // The time at which the remaining unconfirmed members count as lost.
  TimeNs confirm_deadline_ = kNever;
  // Members that have not completed their resynchronisation with this new
  // agent. Meanwhile jobs may run that are unknown to this agent because this
  // agent only forwards their messages.
  std::set<NodeId> unsynced_members_;
  // The time at which the remaining members count as resynchronised.
  TimeNs resync_deadline_ = kNever;
  RecentJobs ended_;
  // By job: a JobPrepare first, then the messages that followed it from the
  // same agent.
  std::map<std::string, std::vector<std::pair<NodeId, MessageBody>>> deferred_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RESYNC_H_
