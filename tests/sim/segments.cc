#include "tests/sim/segments.h"

#include <string_view>
#include <utility>

#include "server/core/modex/kval.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

// Returns the published data after these changes.
PublishRank WithChanges(const PublishRank& old, const PublishRank& changes) {
  std::map<std::string, std::string> visible;
  std::set<std::string> outside(old.outside.begin(), old.outside.end());
  for (const PublishRank* part : {&old, &changes}) {
    std::string_view rest = part->visible.view();
    KvalPiece piece;
    while (TakeKval(&rest, &piece)) {
      visible[std::string(piece.key)] = piece.whole;
      outside.erase(std::string(piece.key));
    }
  }
  outside.insert(changes.outside.begin(), changes.outside.end());
  std::string kvals;
  for (const auto& [key, kval] : visible) kvals += kval;
  PublishRank all{
      changes.proc, Bytes(std::move(kvals)), {outside.begin(), outside.end()}};
  all.version = changes.version;
  return all;
}

}  // namespace

void Segments::On(NodeId node, RegisterJob& a) {
  if (!nodes_[node].registered.insert(a.job->nspace).second) {
    errors_.push_back("job registered twice");
  }
}

void Segments::On(NodeId node, DropJob& a) {
  if (nodes_[node].registered.erase(a.nspace) == 0) {
    errors_.push_back("job dropped that is not registered");
  }
  std::erase_if(nodes_[node].published, [&](const auto& item) {
    return item.first.nspace == a.nspace;
  });
  oracle_.OnDrop(node, a.nspace);
}

void Segments::On(NodeId node, PublishRank& a) {
  if (!IsRegistered(node, a.proc.nspace)) {
    errors_.push_back("published for a job that is not registered");
  }
  PublishRank& published = nodes_[node].published[a.proc];
  published = a.only_changes ? WithChanges(published, a) : a;
  oracle_.OnPublish(node, published);
}

std::string Segments::PublishedOf(NodeId node, const ProcId& proc) const {
  const auto it = nodes_[node].published.find(proc);
  if (it == nodes_[node].published.end()) return "";
  return std::string(it->second.visible.view());
}

std::vector<std::string> Segments::OutsideOf(NodeId node,
                                             const ProcId& proc) const {
  const auto it = nodes_[node].published.find(proc);
  if (it == nodes_[node].published.end()) return {};
  return it->second.outside;
}

Segments::Published Segments::Reset(NodeId node) {
  oracle_.OnNodeReset(node);
  return std::exchange(nodes_[node], {}).published;
}

void Segments::AddLeftovers(NodeId node, std::vector<std::string>* out) const {
  for (const std::string& nspace : nodes_[node].registered) {
    out->push_back("the segment of " + nspace);
  }
}

}  // namespace canopy::sim
