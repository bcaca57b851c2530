#include "server/registration/placement.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/status.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"
#include "server/registration/entry.h"
#include "server/registration/map_texts.h"
#include "server/registration/node_names.h"
#include "server/registration/node_numbers.h"

namespace canopy::registration {
namespace {

// Returns the first of these keys that is present.
const pmix_info_t* FirstOf(const Level& level,
                           std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const pmix_info_t* info = level.Find(key)) return info;
  }
  return nullptr;
}

std::string Numbered(const char* what, uint32_t number) {
  return what + std::to_string(number);
}

class Placer {
 public:
  Placer(const Call& call, const Draft& draft, Placement* out, Problem* problem)
      : call_(call), draft_(draft), out_(*out), problem_(*problem) {}

  bool Run() {
    return ReadSelf() && ReadNodes() && ReadRanks() && CountRanks() &&
           PlaceByMap() && PlaceByNames() && PlaceByPeers() &&
           PlaceByNumbers() && PlaceHere() && PlaceTheRest() && FindSelf() &&
           CheckSelf() && NameDrafts();
  }

 private:
  bool ReadSelf();
  bool ReadNodes();
  bool ReadRanks();
  bool ReadVector();
  bool CountRanks();
  bool PlaceByMap();
  bool PlaceByNames();
  bool PlaceByPeers();
  bool PlaceByNumbers();
  bool PlaceHere();
  bool PlaceTheRest();
  bool FindSelf();
  bool CheckSelf();
  bool NameDrafts();

  bool Put(Rank rank, uint32_t node, const std::string& said_by);
  uint32_t NodeCalled(std::string_view name);
  std::string NameOfId(uint32_t id) const;
  uint32_t NodeOfSelf() const;
  uint32_t NodeSaidToBeSelf();
  uint32_t RanksNamed() const;
  uint32_t NumLocal() const {
    return static_cast<uint32_t>(std::max(call_.num_local_procs, 0));
  }
  const std::string& SelfName() const { return out_.self_names.front(); }

  const Call& call_;
  const Draft& draft_;
  Placement& out_;
  Problem& problem_;
  NodeNames names_;
  std::vector<Rank> local_peers_;  // in the host's order
  std::optional<std::vector<std::vector<Rank>>> map_;
  std::string map_key_;
  bool complete_ = false;  // whether all nodes are known
};

bool Placer::ReadSelf() {
  const pmix_info_t* name = draft_.job.Find(PMIX_HOSTNAME);
  if (const auto text = ReadText(name, &problem_)) {
    out_.self_names.emplace_back(*text);
  }
  out_.self_names.insert(out_.self_names.end(), call_.node_names.begin(),
                         call_.node_names.end());
  if (out_.self_names.empty()) out_.self_names.emplace_back("localhost");
  out_.self_id =
      ReadNumber(draft_.job.Find(PMIX_NODEID), UINT32_MAX - 1, &problem_);
  if (!out_.self_id) out_.self_id = call_.node_id;
  if (const pmix_info_t* peers = draft_.job.Find(PMIX_LOCAL_PEERS)) {
    auto ranks = ReadRankList(*peers, &problem_);
    if (ranks) local_peers_ = *std::move(ranks);
  }
  return problem_.ok();
}

bool Placer::ReadNodes() {
  const pmix_info_t* map =
      FirstOf(draft_.job, {PMIX_NODE_MAP, PMIX_NODE_MAP_RAW, PMIX_NODE_LIST});
  if (map != nullptr) {
    const auto names = ReadNodeMap(*map, &problem_);
    if (!names) return false;
    for (const std::string& name : *names) (void)NodeCalled(name);
    complete_ = true;
  }
  for (const DraftNode& node : draft_.nodes) {
    const uint32_t known = names_.Find(node.name);
    if (known == kNoNode) continue;
    for (const std::string& alias : node.aliases) names_.Add(alias, known);
  }
  return true;
}

bool Placer::ReadRanks() {
  const pmix_info_t* map =
      FirstOf(draft_.job, {PMIX_PROC_MAP, PMIX_PROC_MAP_RAW});
  if (map == nullptr) return ReadVector();
  map_key_ = NameOf(KeyOf(*map));
  map_ = ReadRankMap(*map, &problem_);
  if (!map_) return false;
  if (!complete_) {
    if (map_->size() != 1) {
      return problem_.Say(kErrBadParam,
                          "PMIX_NODE_MAP is missing: " + map_key_ + " has " +
                              std::to_string(map_->size()) + " nodes");
    }
    (void)NodeCalled(SelfName());
    complete_ = true;
  }
  if (map_->size() != out_.nodes.size()) {
    return problem_.Say(kErrBadParam, map_key_ + " has " +
                                          std::to_string(map_->size()) +
                                          " nodes, and there are " +
                                          std::to_string(out_.nodes.size()));
  }
  return true;
}

// Reads PMIX_ANL_MAP. It is used if it is the only description of the number of
// processes on each node.
bool Placer::ReadVector() {
  const pmix_info_t* map = draft_.job.Find(PMIX_ANL_MAP);
  const auto size =
      ReadNumber(draft_.job.Find(PMIX_JOB_SIZE), kMaxProcs, &problem_);
  if (!problem_.ok()) return false;
  if (map == nullptr || !size || !complete_ || !draft_.procs.empty()) {
    return true;
  }
  map_key_ = NameOf(KeyOf(*map));
  map_ = ReadVectorMap(*map, static_cast<uint32_t>(out_.nodes.size()), *size,
                       &problem_);
  return map_.has_value();
}

// Returns the highest rank that is mentioned anywhere, plus one.
uint32_t Placer::RanksNamed() const {
  uint32_t count = 0;
  const auto add = [&count](const std::vector<Rank>& ranks) {
    for (const Rank rank : ranks) count = std::max(count, rank + 1);
  };
  if (map_) {
    for (const std::vector<Rank>& ranks : *map_) add(ranks);
  }
  for (const DraftNode& node : draft_.nodes) {
    if (node.peers) add(*node.peers);
  }
  add(local_peers_);
  if (!draft_.procs.empty()) {
    count = std::max(count, draft_.procs.rbegin()->first + 1);
  }
  return count;
}

// Determines the number of ranks: PMIX_JOB_SIZE, or else a number that follows
// from the ranks that are mentioned.
bool Placer::CountRanks() {
  const uint32_t named = RanksNamed();
  const auto told =
      ReadNumber(draft_.job.Find(PMIX_JOB_SIZE), kMaxProcs, &problem_);
  if (!problem_.ok()) return false;
  if (told && named > *told) {
    return problem_.Say(kErrBadParam,
                        Numbered("PMIX_JOB_SIZE is ", *told) +
                            Numbered(", and there is a rank ", named - 1));
  }
  uint32_t size = named;
  const auto here = NumLocal();
  if (!map_) size = std::max(size, here);
  if (told) size = *told;
  if (size > kMaxProcs) {
    return problem_.Say(kErrOutOfResource, "too many processes");
  }
  out_.node_of.assign(size, kNoNode);
  return true;
}

bool Placer::Put(Rank rank, uint32_t node, const std::string& said_by) {
  if (rank >= out_.node_of.size()) {
    return problem_.Say(kErrBadParam,
                        said_by + Numbered(" has no such rank as ", rank));
  }
  uint32_t& place = out_.node_of[rank];
  if (place != kNoNode && place != node) {
    return problem_.Say(kErrBadParam, said_by + Numbered(" puts rank ", rank) +
                                          " on " + out_.nodes[node].name +
                                          ", and it is on " +
                                          out_.nodes[place].name);
  }
  place = node;
  return true;
}

// Returns the node of that name. An unknown node is added, unless all nodes are
// known. Returns kNoNode if the node is unknown and cannot be added.
uint32_t Placer::NodeCalled(std::string_view name) {
  uint32_t node = names_.Find(name);
  if (node != kNoNode || complete_) return node;
  if (out_.nodes.size() == kMaxNodes) {
    problem_.Say(kErrOutOfResource, "too many nodes");
    return kNoNode;
  }
  node = static_cast<uint32_t>(out_.nodes.size());
  out_.nodes.emplace_back().name = name;
  names_.Add(name, node);
  return node;
}

bool Placer::PlaceByMap() {
  if (!map_) return true;
  std::vector<bool> seen(out_.node_of.size());
  for (uint32_t node = 0; node < map_->size(); ++node) {
    for (const Rank rank : (*map_)[node]) {
      if (!Put(rank, node, map_key_)) return false;
      if (seen[rank]) {
        return problem_.Say(
            kErrBadParam, map_key_ + Numbered(" lists rank ", rank) + " twice");
      }
      seen[rank] = true;
    }
  }
  return true;
}

bool Placer::PlaceByNames() {
  for (const auto& [rank, proc] : draft_.procs) {
    auto name = ReadText(proc.level.Find(PMIX_HOSTNAME), &problem_);
    if (!problem_.ok()) return false;
    if (!name && proc.node) name = draft_.nodes[*proc.node].name;
    if (!name || name->empty()) continue;
    const uint32_t node = NodeCalled(*name);
    if (node == kNoNode) {
      return problem_.Say(kErrBadParam,
                          Numbered("PMIX_HOSTNAME of rank ", rank) + " is " +
                              std::string(*name) +
                              ", which PMIX_NODE_MAP does not have");
    }
    if (!Put(rank, node, "PMIX_HOSTNAME")) return false;
  }
  return true;
}

bool Placer::PlaceByPeers() {
  const std::string said_by = "PMIX_LOCAL_PEERS";
  for (const DraftNode& draft : draft_.nodes) {
    if (!draft.peers || draft.peers->empty()) continue;
    const std::string name =
        draft.name.empty() ? NameOfId(*draft.id) : draft.name;
    // If all nodes are known, NumberNodes finds the node of this draft, which
    // has only a number.
    if (name.empty() && complete_) continue;
    if (name.empty()) {
      return problem_.Say(
          kErrBadParam,
          Numbered("PMIX_HOSTNAME is missing of node ", *draft.id));
    }
    const uint32_t node = NodeCalled(name);
    if (node == kNoNode) {
      return problem_.Say(kErrBadParam, "there are processes on " + name +
                                            ", which PMIX_NODE_MAP does not "
                                            "have");
    }
    for (const Rank rank : *draft.peers) {
      if (!Put(rank, node, said_by)) return false;
    }
  }
  return true;
}

// Returns the name of the node with this number, or an empty string if the name
// is unknown.
std::string Placer::NameOfId(uint32_t id) const {
  for (const DraftNode& node : draft_.nodes) {
    if (node.id == id && !node.name.empty()) return node.name;
  }
  return out_.self_id == id ? SelfName() : "";
}

// Places processes by PMIX_NODEID. Used only if no other entry determines the
// node.
bool Placer::PlaceByNumbers() {
  if (std::ranges::find(out_.node_of, kNoNode) == out_.node_of.end()) {
    return true;
  }
  std::unordered_map<uint32_t, std::string> named;
  for (const auto& [rank, proc] : draft_.procs) {
    if (out_.node_of[rank] != kNoNode) continue;
    auto id =
        ReadNumber(proc.level.Find(PMIX_NODEID), UINT32_MAX - 1, &problem_);
    if (!problem_.ok()) return false;
    if (!id && proc.node) id = draft_.nodes[*proc.node].id;
    if (!id) continue;
    const auto [it, added] = named.try_emplace(*id);
    if (added) it->second = NameOfId(*id);
    uint32_t node = it->second.empty() ? kNoNode : NodeCalled(it->second);
    if (node == kNoNode && complete_ && *id < out_.nodes.size()) node = *id;
    if (node == kNoNode) {
      return problem_.Say(kErrBadParam,
                          Numbered("PMIX_HOSTNAME is missing of node ", *id));
    }
    if (!Put(rank, node, "PMIX_NODEID")) return false;
  }
  return true;
}

uint32_t Placer::NodeOfSelf() const {
  for (const std::string& name : out_.self_names) {
    const uint32_t node = names_.Find(name);
    if (node != kNoNode) return node;
  }
  return kNoNode;
}

// Places the processes that the host lists as its own processes.
bool Placer::PlaceHere() {
  for (const Rank rank : local_peers_) {
    if (out_.node_of[rank] != kNoNode) continue;
    const uint32_t known = NodeOfSelf();
    const uint32_t node = known != kNoNode ? known : NodeCalled(SelfName());
    if (node != kNoNode) out_.node_of[rank] = node;
  }
  return problem_.ok();
}

// Places the other processes. If all processes are local, or there is only one
// node, no further entries are needed.
bool Placer::PlaceTheRest() {
  const auto lost = std::ranges::find(out_.node_of, kNoNode);
  if (lost == out_.node_of.end()) return true;
  const auto rank = static_cast<Rank>(lost - out_.node_of.begin());
  if (map_) {
    return problem_.Say(kErrBadParam,
                        map_key_ + Numbered(" does not have rank ", rank));
  }
  const bool all_here = out_.node_of.size() <= NumLocal();
  if (out_.nodes.empty() && all_here) (void)NodeCalled(SelfName());
  if (out_.nodes.size() != 1 || (!complete_ && !all_here)) {
    return problem_.Say(
        kErrBadParam, Numbered("no attribute has the place of rank ", rank) +
                          " runs: PMIX_PROC_MAP and PMIX_HOSTNAME are missing");
  }
  std::ranges::replace(out_.node_of, kNoNode, 0u);
  return true;
}

// Returns the node of the processes that the host describes as local. Finds it
// by the rank of their leader, or by the number of this server's node.
uint32_t Placer::NodeSaidToBeSelf() {
  if (NumLocal() == 0) return kNoNode;
  const auto leader =
      ReadNumber(draft_.job.Find(PMIX_LOCALLDR), UINT32_MAX, &problem_);
  if (leader && *leader < out_.node_of.size()) return out_.node_of[*leader];
  for (const DraftNode& node : draft_.nodes) {
    if (out_.self_id && node.id == out_.self_id) return names_.Find(node.name);
  }
  const bool is_index = out_.self_id && *out_.self_id < out_.nodes.size();
  if (is_index) return *out_.self_id;
  return out_.nodes.size() == 1 ? 0 : kNoNode;
}

// Determines this server's node. The host's own list has precedence, because
// several servers may share a machine.
bool Placer::FindSelf() {
  if (!local_peers_.empty()) {
    out_.self = out_.node_of[local_peers_.front()];
  }
  if (out_.self == kNoNode) out_.self = NodeOfSelf();
  if (out_.self == kNoNode) out_.self = NodeSaidToBeSelf();
  if (out_.self != kNoNode || NumLocal() == 0 || out_.nodes.empty()) {
    return problem_.ok();
  }
  return problem_.Say(kErrBadParam, "PMIX_NODE_MAP does not have this node, " +
                                        SelfName() + ", which has processes");
}

bool Placer::CheckSelf() {
  if (out_.self == kNoNode) return true;
  const auto here =
      static_cast<size_t>(std::ranges::count(out_.node_of, out_.self));
  const auto told = NumLocal();
  if (told != 0 && told != here) {
    return problem_.Say(kErrBadParam,
                        std::to_string(told) +
                            " local processes are registered, and the map "
                            "has " +
                            std::to_string(here) + " on " +
                            out_.nodes[out_.self].name);
  }
  for (const Rank rank : local_peers_) {
    if (!Put(rank, out_.self, "PMIX_LOCAL_PEERS")) return false;
  }
  return true;
}

bool Placer::NameDrafts() {
  for (size_t i = 0; i < draft_.nodes.size(); ++i) {
    const DraftNode& draft = draft_.nodes[i];
    if (draft.name.empty()) continue;
    const uint32_t node = names_.Find(draft.name);
    if (node == kNoNode) {
      out_.unused.push_back(i);
    } else {
      out_.nodes[node].drafts.push_back(i);
    }
  }
  return true;
}

}  // namespace

bool Place(const Call& call, const Draft& draft, Placement* placement,
           Problem* problem) {
  return Placer(call, draft, placement, problem).Run() &&
         NumberNodes(draft, placement, problem);
}

}  // namespace canopy::registration
