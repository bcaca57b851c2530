// Merges the stacks of many ranks into one tree: equal stacks appear once, with
// their ranks.
#ifndef CANOPY_CLIENT_STACKS_STACK_TREE_H_
#define CANOPY_CLIENT_STACKS_STACK_TREE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::tools {

// Returns ranges such as "0-2,5"; an empty text if there are no ranks.
std::string RanksText(const std::set<uint32_t>& ranks);

// A stack, from the outermost frame, and the ranks that have it.
struct MergedStack {
  std::set<uint32_t> ranks;
  std::vector<std::string> frames;
};

// Frames are in the order of calls. Children are in the order of their lowest
// ranks.
class StackTree {
 public:
  // Adds a stack, from the outermost frame. A rank may have several stacks.
  void Add(uint32_t rank, const std::vector<std::string>& frames);
  bool empty() const { return root_.children.empty(); }

  // Returns a line for each frame. Where stacks differ, a line with the number
  // and list of the ranks precedes the frame, and only there the indentation
  // grows by two blanks.
  std::string Text() const;
  // Returns each different stack once, in the order of Text.
  std::vector<MergedStack> Stacks() const;

 private:
  struct Node {
    std::string frame;
    std::set<uint32_t> ranks;
    std::vector<std::unique_ptr<Node>> children;
  };

  static std::vector<const Node*> ChildrenOf(const Node& node);
  static Node* ChildOf(Node* node, const std::string& frame);
  static void Print(const Node& node, size_t depth, bool parted,
                    std::string* out);

  static void Collect(const Node& node, std::vector<std::string>* frames,
                      std::vector<MergedStack>* out);

  Node root_;
};

// The parsed output of `canopy-stacks`, with or without a tag before each line.
struct StackReport {
  StackTree tree;
  std::set<uint32_t> ranks;         // ranks with a stack
  std::vector<std::string> errors;  // one line each
};

// Reads the output. `only` selects ranks; if it is empty, all ranks are read.
StackReport ReadStacks(std::string_view output, const std::set<uint32_t>& only);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_STACKS_STACK_TREE_H_
