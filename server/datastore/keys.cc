#include "server/datastore/keys.h"

#include "common/values/regex.h"
#include "pmix_common.h"
#include "server/datastore/maps.h"

namespace canopy::datastore {

void AddAllocation(const std::vector<std::string>& nodes, Keys* keys) {
  if (nodes.empty()) return;
  keys->Number(PMIX_NUM_ALLOCATED_NODES, nodes.size());
  keys->Text(PMIX_ALLOCATED_NODELIST, JoinNames(nodes));
}

void AddMaps(const std::vector<std::string>& nodes,
             const std::vector<std::vector<Rank>>& ranks, Keys* keys) {
  keys->Number(PMIX_NUM_NODES, nodes.size());
  keys->Text(PMIX_NODE_LIST, JoinNames(nodes));
  keys->Text(PMIX_NODE_MAP, CompressNodeList(JoinNames(nodes)));
  keys->Text(PMIX_NODE_MAP_RAW, JoinNames(nodes));
  keys->Text(PMIX_PROC_MAP, ProcMapRegex(ranks));
}

}  // namespace canopy::datastore
