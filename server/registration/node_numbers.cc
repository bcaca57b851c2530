#include "server/registration/node_numbers.h"

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "common/status.h"
#include "pmix_common.h"
#include "server/registration/entry.h"

namespace canopy::registration {
namespace {

class Numberer {
 public:
  Numberer(const Draft& draft, Placement* out, Problem* problem)
      : draft_(draft),
        out_(*out),
        problem_(*problem),
        numbered_(out->nodes.size()) {}

  bool Run() {
    return TakeFromArrays() && TakeFromProcs() && TakeIndices() &&
           SortInDrafts();
  }

 private:
  bool TakeFromArrays();
  bool TakeFromProcs();
  bool TakeIndices();
  bool SortInDrafts();

  // Assigns the number to the node. Returns false if another node has the
  // number.
  bool Give(uint32_t node, uint32_t id) {
    if (!owners_.emplace(id, node).second) return false;
    out_.nodes[node].id = id;
    numbered_[node] = true;
    return true;
  }
  bool TakeFromArray(uint32_t node, uint32_t id);
  // Returns, by node, the set of numbers that the node's processes state.
  std::vector<std::set<uint32_t>> Said();

  const Draft& draft_;
  Placement& out_;
  Problem& problem_;
  std::vector<bool> numbered_;
  std::unordered_map<uint32_t, uint32_t> owners_;  // number -> node
};

bool Numberer::TakeFromArray(uint32_t node, uint32_t id) {
  PlacedNode& placed = out_.nodes[node];
  if (numbered_[node] ? placed.id == id : Give(node, id)) return true;
  return problem_.Say(kErrBadParam,
                      "PMIX_NODEID of " + placed.name + " contradicts another");
}

bool Numberer::TakeFromArrays() {
  for (uint32_t node = 0; node < out_.nodes.size(); ++node) {
    for (const size_t i : out_.nodes[node].drafts) {
      const std::optional<uint32_t> id = draft_.nodes[i].id;
      if (id && !TakeFromArray(node, *id)) return false;
    }
  }
  if (out_.self != kNoNode && out_.self_id && !numbered_[out_.self]) {
    (void)Give(out_.self, *out_.self_id);
  }
  return true;
}

std::vector<std::set<uint32_t>> Numberer::Said() {
  std::vector<std::set<uint32_t>> said(out_.nodes.size());
  for (const auto& [rank, proc] : draft_.procs) {
    const auto id =
        ReadNumber(proc.level.Find(PMIX_NODEID), UINT32_MAX - 1, &problem_);
    if (id) said[out_.node_of[rank]].insert(*id);
  }
  return said;
}

// Takes the number that all processes of a node state. If processes of several
// nodes state the same number, only this server's own node may get it.
bool Numberer::TakeFromProcs() {
  const std::vector<std::set<uint32_t>> said = Said();
  std::unordered_map<uint32_t, size_t> claims;
  for (const auto& ids : said) {
    for (const uint32_t id : ids) ++claims[id];
  }
  for (uint32_t node = 0; node < said.size(); ++node) {
    if (numbered_[node] || said[node].size() != 1) continue;
    const uint32_t id = *said[node].begin();
    if (claims[id] == 1 || node == out_.self) (void)Give(node, id);
  }
  return problem_.ok();
}

bool Numberer::TakeIndices() {
  uint32_t next = static_cast<uint32_t>(out_.nodes.size());
  for (uint32_t node = 0; node < out_.nodes.size(); ++node) {
    if (numbered_[node] || Give(node, node)) continue;
    while (!Give(node, next)) ++next;
  }
  return true;
}

bool Numberer::SortInDrafts() {
  for (size_t i = 0; i < draft_.nodes.size(); ++i) {
    const DraftNode& draft = draft_.nodes[i];
    if (!draft.name.empty()) continue;
    const auto owner = owners_.find(*draft.id);
    if (owner == owners_.end()) {
      out_.unused.push_back(i);
    } else {
      out_.nodes[owner->second].drafts.push_back(i);
    }
  }
  return true;
}

}  // namespace

bool NumberNodes(const Draft& draft, Placement* placement, Problem* problem) {
  return Numberer(draft, placement, problem).Run();
}

}  // namespace canopy::registration
