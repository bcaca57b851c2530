#include "server/openpmix/node_names.h"

#include <algorithm>
#include <unordered_set>

namespace canopy::openpmix {

bool IsNamed(const JobNode& node, std::string_view name) {
  return node.name == name ||
         std::ranges::find(node.aliases, name) != node.aliases.end();
}

std::string NodeNames(const std::vector<const JobSpec*>& jobs) {
  std::unordered_set<std::string_view> seen;
  std::string list;
  for (const JobSpec* job : jobs) {
    for (const JobNode& node : job->nodes) {
      if (!seen.insert(node.name).second) continue;
      if (!list.empty()) list += ',';
      list += node.name;
    }
  }
  return list;
}

}  // namespace canopy::openpmix
