// The stacks of many ranks as one tree: equal ones once, with who has them.
#ifndef CANOPY_CLIENT_STACKS_STACK_TREE_H_
#define CANOPY_CLIENT_STACKS_STACK_TREE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::tools {

// "0-2,5"; of none, "".
std::string RanksText(const std::set<uint32_t>& ranks);

// Frames are in the order of calls. Children are in that of their lowest rank.
class StackTree {
 public:
  // From the outermost frame. A second stack of a rank counts as its too.
  void Add(uint32_t rank, const std::vector<std::string>& frames);
  bool empty() const { return root_.children.empty(); }

  // A line for each frame: how many ranks and which where they part, the frame
  // below that; deeper by two blanks there alone.
  std::string Text() const;

 private:
  struct Node {
    std::string frame;
    std::set<uint32_t> ranks;
    std::vector<std::unique_ptr<Node>> children;
  };

  static Node* ChildOf(Node* node, const std::string& frame);
  static void Print(const Node& node, size_t depth, bool parted,
                    std::string* out);

  Node root_;
};

// What `canopy-stacks` prints, tag or not in front of each line.
struct StackReport {
  StackTree tree;
  std::set<uint32_t> ranks;         // that have a stack
  std::vector<std::string> errors;  // a line each
};

// `only`: these ranks; empty: all.
StackReport ReadStacks(std::string_view output, const std::set<uint32_t>& only);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_STACKS_STACK_TREE_H_
