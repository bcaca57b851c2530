// The results of a sample of resource usage.
#ifndef CANOPY_SERVER_CORE_QUERY_USAGE_REPORT_H_
#define CANOPY_SERVER_CORE_QUERY_USAGE_REPORT_H_

#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "server/core/query/gathered_facts.h"
#include "server/core/query/usage_scope.h"
#include "server/core/step/usage.h"

namespace canopy::core {

// Used for one sample. The arguments of the constructor outlive this object.
class UsageReport {
 public:
  UsageReport(const std::vector<std::string>& node_names,
              const UsageWanted& wanted, const GatheredFacts& facts)
      : node_names_(node_names), wanted_(wanted), facts_(facts) {}

  // Encodes an info for each process, node, disk or interface in *results,
  // which stays empty if there is none. Returns kErrOutOfResource if the
  // results would exceed kMaxUsageBytes.
  int Make(const UsageScope& scope, Bytes* results) const;

 private:
  void AddProcesses(const UsageScope& scope, InfoList* report) const;
  void AddNode(NodeId node, InfoList* report) const;
  void AddDevice(NodeId node, const pmix_info_t& device,
                 InfoList* report) const;
  bool IsWanted(const pmix_info_t& device) const;

  const std::vector<std::string>& node_names_;
  const UsageWanted& wanted_;
  const GatheredFacts& facts_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_USAGE_REPORT_H_
