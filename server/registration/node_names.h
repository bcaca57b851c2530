// Nodes by the names that hosts use for them.
#ifndef CANOPY_SERVER_REGISTRATION_NODE_NAMES_H_
#define CANOPY_SERVER_REGISTRATION_NODE_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/ids.h"

namespace canopy::registration {

// Hosts write a node's name with its domain in one place and without it in
// another. So a name that is not known as it is counts as the node whose name
// has the same first part, if there is one such node; addresses count whole.
class NodeNames {
 public:
  // The first node of a name keeps it.
  void Add(std::string_view name, uint32_t node);
  // kNoNode when there is none.
  uint32_t Find(std::string_view name) const;

 private:
  static constexpr uint32_t kSeveral = kNoNode;

  std::map<std::string, uint32_t, std::less<>> names_;
  std::map<std::string, uint32_t, std::less<>> short_names_;
};

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_NODE_NAMES_H_
