// The directory of one agent: the publications of all keys that this agent
// owns, second copies that it keeps for other owners, and publications whose
// range is this node.
#ifndef CANOPY_SERVER_CORE_PUBLISH_DIRECTORY_H_
#define CANOPY_SERVER_CORE_PUBLISH_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/publish/peer_calls.h"
#include "server/core/publish/publication.h"
#include "server/core/publish/publish_step.h"
#include "server/core/publish/quota.h"
#include "server/core/publish/recent.h"
#include "server/core/step/clock.h"
#include "server/core/tree.h"

namespace canopy::core {

// Maximum time for which the owner waits until the members have sent the
// publications of its keys.
inline constexpr TimeNs kPullPatience = 10'000'000'000;

// An owner that gets keys through a membership change does not have their
// publications, and stewards send them only on request, because sending them
// after each change would cause a storm of messages. So before the directory
// reports a key as absent or free, it requests all publications of its keys
// from every member (DirectoryPull), once after each change. Lookups and stores
// whose answer depends on these publications wait until every member has
// replied, at most kPullPatience.
//
// Not synchronised. `tree` and `calls` outlive this object. The caller updates
// the tree before it reports a membership change. Times are in nanoseconds.
class Directory {
 public:
  Directory(NodeId self, const Tree& tree, PeerCalls& calls);

  // ------------------------------------------------------- from stewards ---

  void OnStore(PublishStep& step, NodeId src, const DirectoryStore& store);
  void OnRemove(PublishStep& step, NodeId src, const DirectoryRemove& remove);

  // ------------------------------------------------------- from searchers ---

  void OnLookup(PublishStep& step, NodeId src, const DirectoryLookup& lookup);
  void OnLookupEnd(PublishStep& step, NodeId src,
                   const DirectoryLookupEnd& end);

  struct Match {
    const Publication* found = nullptr;
    // True if all publications in range are forbidden to the searcher.
    bool barred = false;
  };
  Match Find(const Searcher& searcher, NodeId node, std::string_view key) const;

  // ------------------------------------------------------------ members ---

  // Returns the publications that survive the loss of their steward `node`; the
  // caller adopts them. The other publications of that steward are erased.
  std::vector<Publication> OnNodeLost(PublishStep& step, NodeId node);
  // Called when `node` has a new agent, which has lost its lookups and may have
  // lost its publications. This agent sends the publications back, and erases
  // those that the new agent disowns.
  void OnNodeRestarted(PublishStep& step, NodeId node);
  // Called when the tree has changed. Answers to the pulls in progress no
  // longer count. The caller calls VoidPulls before it repeats other requests,
  // and OnMembersChanged afterwards.
  void VoidPulls();
  void OnMembersChanged(PublishStep& step);
  void OnTick(PublishStep& step);
  TimeNs NextDeadline() const { return pull_deadline_; }

  const std::map<PublicationId, Publication>& all() const { return all_; }
  // Returns true if this publication was removed recently, by `steward` or by
  // an agent that took over from it.
  bool WasRemoved(const PublicationId& id, NodeId steward) const {
    return removed_.Contains(RemovalDigest(id, steward));
  }
  // Returns the number of waiting lookups, and of stores that wait until it is
  // known whether their key is taken.
  size_t num_waiting() const { return lookups_.size() + stores_.size(); }

 private:
  using LookupId = std::pair<NodeId, uint64_t>;

  // Returns true if this agent has all publications of its keys; otherwise
  // begins a pull.
  bool HasAll(PublishStep& step);
  void OnPulled(PublishStep& step, NodeId node, uint64_t round);
  bool MayRemove(NodeId src, const PublicationId& id) const;
  // Serves the stores and lookups that waited for the pull.
  void Resume(PublishStep& step);
  int TryStore(PublishStep& step, NodeId src, const DirectoryStore& store);
  int Replace(PublishStep& step, const Publication& publication);
  void Put(const Publication& publication);
  void Erase(const PublicationId& id);
  // Returns another publication that occupies the key and range of
  // `publication`, or null. A publication of the same call counts too; the
  // caller checks for that.
  const Publication* HolderOf(const Publication& publication) const;
  void Answer(PublishStep& step, NodeId to, uint64_t request, int status);
  // Sends the answers that can be given now.
  void TryAnswer(PublishStep& step, const LookupId& id);
  // Registers the lookup as waiting for `keys`, which are a part of its keys.
  void Await(const LookupId& id, DirectoryLookup lookup,
             std::vector<LookupKey> keys);
  void WakeUp(PublishStep& step, const std::string& key);
  void Forget(const LookupId& id);
  static uint64_t RemovalDigest(const PublicationId& id, NodeId steward);

  const NodeId self_;
  const Tree& tree_;
  PeerCalls& calls_;
  PublishQuota quota_;
  std::map<PublicationId, Publication> all_;
  std::map<std::string, std::set<PublicationId>, std::less<>> by_key_;
  // Recently ended items. They keep a late store or lookup from reviving an
  // ended publication or lookup.
  Recent removed_;  // keyed by RemovalDigest
  Recent ended_;    // lookups, keyed by DigestOf
  std::map<LookupId, DirectoryLookup> lookups_;
  std::map<std::string, std::set<LookupId>, std::less<>> lookups_by_key_;
  std::map<LookupId, DirectoryStore> stores_;
  // Members that have not sent their publications since the last change.
  std::set<NodeId> unpulled_;
  bool pulls_ = false;
  std::vector<uint64_t> pull_requests_;  // of the current round
  uint64_t round_ = 0;
  TimeNs pull_deadline_ = kNever;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_DIRECTORY_H_
