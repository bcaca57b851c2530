// The membership of the overlay, for planning and status reports.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_MEMBERSHIP_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_MEMBERSHIP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"
#include "server/control/job_record.h"
#include "server/core/step/peer_inputs.h"
#include "server/core/tree.h"
#include "server/overlay/frame.h"
#include "server/ports/input_observer.h"

namespace canopy::agent {

// Loop thread only.
class Membership : public InputObserver {
 public:
  explicit Membership(const bootstrap::v1::Config& config);

  // Sets the members' descriptions, in the order of node numbers.
  void Set(const bootstrap::v1::Members& members);
  void OnNodeStateChanged(const core::NodeStateChanged& change) override;
  // Applies a decision about a member, or adds the next member, which is lost
  // until its agent is up.
  void Apply(const overlay::MemberRecord& record);

  // Adopts the description of its node that an agent has published. It has
  // precedence over that of decisions. Returns false if it changes nothing, or
  // is malformed or that of another node.
  bool Describe(NodeId node, const std::string& description);

  // Replaces the description of this agent's node.
  void DescribeSelf(const bootstrap::v1::NodeInfo& info) {
    entries_[self_].info = info;
  }

  // Returns the number of members, with those that were removed.
  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  // Returns the number of the member with this name or alias that was not
  // removed, or kNoNode.
  NodeId Find(const std::string& name) const;
  // Returns the member's record, or the one that it would have if nothing was
  // decided.
  overlay::MemberRecord RecordOf(NodeId node) const;
  bool removed(NodeId node) const {
    return entries_[node].record.service == overlay::Service::kRemoved;
  }
  // Returns true if more than half of the members that were not removed are up.
  bool HasMajority() const;
  // Returns the description of a member.
  const bootstrap::v1::NodeInfo& info(NodeId node) const {
    return entries_[node].info;
  }
  // Returns what the jobs of each user may have: what the configuration states,
  // otherwise the defaults. By default, the number of processes grows with the
  // slots of the members that were not removed.
  control::UserLimits LimitsOfUsers(const bootstrap::v1::Config& config) const;
  // Returns the descriptions of all members, by number.
  bootstrap::v1::Members Members() const;

  // `why` returns why a member that is up does not answer, or an empty text.
  void set_why_away(std::function<std::string(NodeId)> why) {
    why_away_ = std::move(why);
  }

  // `changed` is called when another node has become the leader.
  void set_leader_changed(std::function<void()> changed) {
    leader_changed_ = std::move(changed);
  }

  bool up(NodeId node) const { return tree_.alive(node); }
  // Returns why the agent of a node that is up does not answer for the moment,
  // in one line. Returns an empty text if the agent answers.
  std::string WhyAway(NodeId node) const {
    return up(node) && why_away_ ? why_away_(node) : "";
  }
  // Returns a line that names the nodes that are up but whose agents do not
  // answer, or an empty text if there are none.
  std::string AwayNodes() const;
  // Returns true if the node is the leader: the first node that is up and in
  // service, or the root of the tree if none is in service.
  bool IsLeader(NodeId node) const {
    return tree_.alive(node) && tree_.leader() == node;
  }
  // Returns the name of the node, or "member N" if there is no such member.
  std::string Name(NodeId node) const;
  // Returns the reason why the node takes no new jobs, or an empty string if it
  // takes them.
  std::string WhyDrained(NodeId node) const;
  // Returns the reason why the node of that name or alias is lost, or an empty
  // string if it is not lost.
  std::string LostNode(const std::string& name) const;
  // Returns the states of the members that were not removed, each with the
  // number of processes that `jobs` have there, and with the first of the jobs
  // that its agent controls.
  control::v1::StatusReply Describe(const control::JobRecords& jobs) const;

 private:
  void NoteLeader();

  struct Entry {
    bootstrap::v1::NodeInfo info;
    std::string down_reason;
    overlay::MemberRecord record;  // its description is in `info`
    bool joining = false;          // its agent has never been up
    bool described = false;        // by its own agent
  };

  const NodeId self_;
  // Whether a drained root is no longer the leader. The launcher of embedded
  // agents knows only the root, which leads for as long as it is up.
  const bool drained_root_yields_;
  core::Tree tree_;
  std::vector<Entry> entries_;
  std::function<std::string(NodeId)> why_away_;
  std::function<void()> leader_changed_;
  NodeId leader_ = 0;
  int64_t since_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_MEMBERSHIP_H_
