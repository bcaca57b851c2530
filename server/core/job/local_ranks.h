// The ranks of a job that run on one node.
#ifndef CANOPY_SERVER_CORE_JOB_LOCAL_RANKS_H_
#define CANOPY_SERVER_CORE_JOB_LOCAL_RANKS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/job.h"

namespace canopy::core {

// Immutable; may be used from any thread.
class LocalRanks {
 public:
  // `node` is the job-relative index; kNoNode if the node runs no rank.
  LocalRanks(std::shared_ptr<const JobSpec> spec,
             std::shared_ptr<const JobLayout> layout, uint32_t node)
      : spec_(std::move(spec)), layout_(std::move(layout)), node_(node) {}

  const JobSpec& spec() const { return *spec_; }
  const JobLayout& layout() const { return *layout_; }
  uint32_t node() const { return node_; }
  bool any() const { return node_ != kNoNode; }
  // Returns whether the rank runs on this node; false also for a rank that the
  // job does not have.
  bool Has(Rank rank) const {
    return any() && rank < spec_->procs.size() &&
           spec_->procs[rank].node == node_;
  }
  // Returns the local ranks, ascending. Requires any().
  const std::vector<Rank>& all() const { return layout_->ranks_on(node_); }
  // Returns those of `ranks` that run on this node, or all local ranks if
  // `ranks` is empty. Requires any().
  std::vector<Rank> Of(const std::vector<Rank>& ranks) const;

 private:
  const std::shared_ptr<const JobSpec> spec_;
  const std::shared_ptr<const JobLayout> layout_;
  const uint32_t node_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_LOCAL_RANKS_H_
