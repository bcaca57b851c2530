#include "client/stacks/stack_tree.h"

#include <algorithm>
#include <utility>

#include "common/string_util.h"

namespace canopy::tools {
namespace {

constexpr std::string_view kStack = "stack\t";
constexpr std::string_view kError = "error\t";
constexpr size_t kRankField = 1;
constexpr size_t kThreadField = 2;
constexpr size_t kFirstFrame = 3;

std::string Plural(size_t count) {
  return std::to_string(count) + (count == 1 ? " rank " : " ranks ");
}

void AddStack(const std::string& line, const std::set<uint32_t>& only,
              StackReport* report) {
  std::vector<std::string> fields = Split(line, '\t');
  if (fields.size() < kFirstFrame) return;
  const auto rank = ParseNumber(fields[kRankField], UINT32_MAX);
  if (!rank || (!only.empty() && !only.contains(*rank))) return;
  std::vector<std::string> frames(
      std::make_move_iterator(fields.begin() + kFirstFrame),
      std::make_move_iterator(fields.end()));
  if (frames.empty()) frames.emplace_back("??");
  if (fields[kThreadField] != "0") {
    frames.insert(frames.begin(), "(another thread)");
  }
  report->ranks.insert(*rank);
  report->tree.Add(*rank, frames);
}

}  // namespace

std::string RanksText(const std::set<uint32_t>& ranks) {
  std::string out;
  for (auto it = ranks.begin(); it != ranks.end();) {
    const uint32_t first = *it;
    uint32_t last = first;
    for (++it; it != ranks.end() && *it == last + 1; ++it) last = *it;
    if (!out.empty()) out += ',';
    out += std::to_string(first);
    if (last > first) out += '-' + std::to_string(last);
  }
  return out;
}

StackTree::Node* StackTree::ChildOf(Node* node, const std::string& frame) {
  for (const auto& child : node->children) {
    if (child->frame == frame) return child.get();
  }
  node->children.push_back(std::make_unique<Node>());
  node->children.back()->frame = frame;
  return node->children.back().get();
}

void StackTree::Add(uint32_t rank, const std::vector<std::string>& frames) {
  Node* node = &root_;
  node->ranks.insert(rank);
  for (const std::string& frame : frames) {
    node = ChildOf(node, frame);
    node->ranks.insert(rank);
  }
}

std::vector<const StackTree::Node*> StackTree::ChildrenOf(const Node& node) {
  std::vector<const Node*> children;
  for (const auto& child : node.children) children.push_back(child.get());
  std::ranges::stable_sort(
      children, {}, [](const Node* child) { return *child->ranks.begin(); });
  return children;
}

void StackTree::Print(const Node& node, size_t depth, bool parted,
                      std::string* out) {
  const std::string indent(depth * 2, ' ');
  if (parted) {
    *out += indent + Plural(node.ranks.size()) + RanksText(node.ranks) + ":\n";
  }
  *out += indent + "  " + node.frame + "\n";
  const std::vector<const Node*> children = ChildrenOf(node);
  const bool parts = children.size() > 1 ||
                     (children.size() == 1 && children[0]->ranks != node.ranks);
  for (const Node* child : children) {
    Print(*child, parts ? depth + 1 : depth, parts, out);
  }
}

std::string StackTree::Text() const {
  std::string out;
  for (const Node* root : ChildrenOf(root_)) Print(*root, 0, true, &out);
  return out;
}

void StackTree::Collect(const Node& node, std::vector<std::string>* frames,
                        std::vector<MergedStack>* out) {
  std::set<uint32_t> ending = node.ranks;
  for (const Node* child : ChildrenOf(node)) {
    for (const uint32_t rank : child->ranks) ending.erase(rank);
    frames->push_back(child->frame);
    Collect(*child, frames, out);
    frames->pop_back();
  }
  if (!ending.empty() && !frames->empty()) out->push_back({ending, *frames});
}

std::vector<MergedStack> StackTree::Stacks() const {
  std::vector<MergedStack> out;
  std::vector<std::string> frames;
  Collect(root_, &frames, &out);
  return out;
}

StackReport ReadStacks(std::string_view output,
                       const std::set<uint32_t>& only) {
  StackReport report;
  for (const std::string& line : Split(output, '\n')) {
    if (const size_t at = line.find(kStack); at != std::string::npos) {
      AddStack(line.substr(at), only, &report);
    } else if (const size_t e = line.find(kError); e != std::string::npos) {
      report.errors.push_back(line.substr(e + kError.size()));
    }
  }
  return report;
}

}  // namespace canopy::tools
