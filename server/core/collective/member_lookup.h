// Looks up the members of a series, which requires the maps of its jobs.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_MEMBER_LOOKUP_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_MEMBER_LOOKUP_H_

#include <cstddef>

#include "common/ids.h"
#include "server/core/collective/series.h"
#include "server/core/job_table.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// Maximum number of maps that one collective requests at a time, so that
// unknown names cost a bounded number of requests.
inline constexpr size_t kMaxMapsAtOnce = 64;

// Tree and table outlive this object. Used by one thread.
class MemberLookup {
 public:
  MemberLookup(NodeId self, const Tree& tree, const JobTable& jobs)
      : self_(self), tree_(tree), jobs_(jobs) {}

  // Returns true if the members of the series are known. Otherwise posts
  // MapWanted for each missing map. The counts that processes have reported for
  // the series are applied when the members become known.
  bool Resolve(const StepContext& step, Series& series) const;

 private:
  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_MEMBER_LOOKUP_H_
