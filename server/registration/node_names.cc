#include "server/registration/node_names.h"

#include <algorithm>

namespace canopy::registration {
namespace {

bool IsAddress(std::string_view name) {
  return name.find(':') != std::string_view::npos ||
         name.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Returns the first part of a name, such as "node1" of "node1.example.org".
std::string_view ShortName(std::string_view name) {
  return IsAddress(name) ? name : name.substr(0, name.find('.'));
}

bool HasDomain(std::string_view name) {
  return ShortName(name).size() != name.size();
}

}  // namespace

void NodeNames::Add(std::string_view name, uint32_t node) {
  if (name.empty()) return;
  names_.emplace(name, node);
  const auto [it, added] = short_names_.emplace(ShortName(name), node);
  if (!added && it->second != node) it->second = kSeveral;
}

uint32_t NodeNames::Find(std::string_view name) const {
  const auto whole = names_.find(name);
  if (whole != names_.end()) return whole->second;
  const auto part = short_names_.find(ShortName(name));
  if (part == short_names_.end() || part->second == kSeveral) return kNoNode;
  // Two names with different domains are names of two nodes.
  if (!HasDomain(name)) return part->second;
  const auto bare = names_.find(ShortName(name));
  return bare == names_.end() ? kNoNode : bare->second;
}

}  // namespace canopy::registration
