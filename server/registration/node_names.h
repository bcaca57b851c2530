// Finds nodes by the names that hosts use for them.
#ifndef CANOPY_SERVER_REGISTRATION_NODE_NAMES_H_
#define CANOPY_SERVER_REGISTRATION_NODE_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/ids.h"

namespace canopy::registration {

// Hosts write a node's name with or without its domain. Therefore, a name that
// is not known exactly stands for the node whose name has the same first part,
// if there is only one such node. Addresses must match completely.
class NodeNames {
 public:
  // If a name is added twice, the first node keeps it.
  void Add(std::string_view name, uint32_t node);
  // Returns the node of that name, or kNoNode if there is none.
  uint32_t Find(std::string_view name) const;

 private:
  static constexpr uint32_t kSeveral = kNoNode;

  std::map<std::string, uint32_t, std::less<>> names_;
  std::map<std::string, uint32_t, std::less<>> short_names_;
};

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_NODE_NAMES_H_
