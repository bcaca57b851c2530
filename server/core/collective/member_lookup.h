// Looks up the members of series, for which the maps of their jobs are needed.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_MEMBER_LOOKUP_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_MEMBER_LOOKUP_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/series.h"
#include "server/core/job_table.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// Maps that one collective asks for at a time, so that names that nobody knows
// cost a bounded number of requests.
inline constexpr size_t kMaxMapsAtOnce = 64;

// Tree and table outlive it. One thread.
class MemberLookup {
 public:
  MemberLookup(NodeId self, const Tree& tree, const JobTable& jobs)
      : self_(self), tree_(tree), jobs_(jobs) {}

  // True: the series has its members. Otherwise maps are missing, and wanted.
  // What processes have counted of it before is applied with its members.
  bool Resolve(StepContext& step, Series& series);

  // Namespaces whose maps are needed, since the last call.
  std::vector<std::string> TakeWanted() { return std::exchange(wanted_, {}); }
  bool has_wanted() const { return !wanted_.empty(); }

 private:
  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  std::vector<std::string> wanted_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_MEMBER_LOOKUP_H_
