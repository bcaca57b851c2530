// The ranks of a job that one node of it runs.
#ifndef CANOPY_SERVER_CORE_JOB_LOCAL_RANKS_H_
#define CANOPY_SERVER_CORE_JOB_LOCAL_RANKS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/job.h"

namespace canopy::core {

// Does not change. Any thread.
class LocalRanks {
 public:
  // `node`: job-relative index; kNoNode: it runs none.
  LocalRanks(std::shared_ptr<const JobSpec> spec,
             std::shared_ptr<const JobLayout> layout, uint32_t node)
      : spec_(std::move(spec)), layout_(std::move(layout)), node_(node) {}

  const JobSpec& spec() const { return *spec_; }
  const JobLayout& layout() const { return *layout_; }
  uint32_t node() const { return node_; }
  bool any() const { return node_ != kNoNode; }
  // Also false for a rank that the job does not have.
  bool Has(Rank rank) const {
    return any() && rank < spec_->procs.size() &&
           spec_->procs[rank].node == node_;
  }
  // Ascending. Where there are any.
  const std::vector<Rank>& all() const { return layout_->ranks_on(node_); }
  // Those of `ranks` that run here; without any, all. Where there are any.
  std::vector<Rank> Of(const std::vector<Rank>& ranks) const;

 private:
  const std::shared_ptr<const JobSpec> spec_;
  const std::shared_ptr<const JobLayout> layout_;
  const uint32_t node_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_LOCAL_RANKS_H_
