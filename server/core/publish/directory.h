// What an agent has of publications: of all keys that it is the owner of, of
// keys that it holds a second copy of, and those that stay on its node.
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

// How long the members are waited for that have yet to store what this agent is
// the owner of.
inline constexpr TimeNs kPullPatience = 10'000'000'000;

// A membership change makes other agents the owners of keys. Stewards do not
// send what they have by themselves: an owner that is about to say that a key
// is not there asks them all first (DirectoryPull), once after each change.
//
// Not synchronised. The caller has updated the tree before it reports changes.
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
    bool barred = false;  // nothing is found, but something is in range
  };
  Match Find(const Searcher& searcher, NodeId node, std::string_view key) const;

  // ------------------------------------------------------------ members ---

  // What outlives the loss of its steward, and has none now.
  std::vector<Publication> OnNodeLost(PublishStep& step, NodeId node);
  // Its steward part may have forgotten what it had, and its searchers.
  void OnNodeRestarted(PublishStep& step, NodeId node);
  // A member was lost or has returned: what is under way has no effect. Before
  // requests are sent again; then, after that, OnMembersChanged.
  void VoidPulls();
  void OnMembersChanged(PublishStep& step);
  void OnTick(PublishStep& step);
  TimeNs NextDeadline() const { return pull_deadline_; }

  const std::map<PublicationId, Publication>& all() const { return all_; }
  // Not long ago, by that agent or one that it gave way to.
  bool WasRemoved(const PublicationId& id, NodeId steward) const {
    return removed_.Contains(RemovalDigest(id, steward));
  }
  // Lookups that wait, and publications that wait for the answer whether their
  // key is taken.
  size_t num_waiting() const { return lookups_.size() + stores_.size(); }

 private:
  using LookupId = std::pair<NodeId, uint64_t>;

  // True when this agent has all that it is the owner of; begins to pull.
  bool HasAll(PublishStep& step);
  void OnPulled(PublishStep& step, NodeId node, uint64_t round);
  bool MayRemove(NodeId src, const PublicationId& id) const;
  // What has waited until it has all.
  void Resume(PublishStep& step);
  int TryStore(PublishStep& step, NodeId src, const DirectoryStore& store);
  int Replace(PublishStep& step, const Publication& publication);
  void Put(const Publication& publication);
  void Erase(const PublicationId& id);
  // Who holds the place already, other than by the same call; null: nobody.
  const Publication* HolderOf(const Publication& publication) const;
  void Answer(PublishStep& step, NodeId to, uint64_t request, int status);
  // Answers what can be answered.
  void TryAnswer(PublishStep& step, const LookupId& id);
  // It waits for these of its keys.
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
  // What came to its end not long ago, by which steward: a late store or lookup
  // does not bring it back.
  Recent removed_;  // by RemovalDigest
  Recent ended_;    // lookups, by DigestOf
  std::map<LookupId, DirectoryLookup> lookups_;
  std::map<std::string, std::set<LookupId>, std::less<>> lookups_by_key_;
  std::map<LookupId, DirectoryStore> stores_;
  // Members that may be stewards of what this agent does not have.
  std::set<NodeId> unpulled_;
  bool pulls_ = false;
  std::vector<uint64_t> pull_requests_;  // of this round
  uint64_t round_ = 0;
  TimeNs pull_deadline_ = kNever;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_DIRECTORY_H_
