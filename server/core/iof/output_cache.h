// What is kept of a job's output for pullers that come later.
#ifndef CANOPY_SERVER_CORE_IOF_OUTPUT_CACHE_H_
#define CANOPY_SERVER_CORE_IOF_OUTPUT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/iof/puller.h"

namespace canopy::core {

// At the agent that controls the job. Bounded; of what exceeds that, the oldest
// is dropped, unless the job is to keep that. Book-keeping only.
class OutputCache {
 public:
  OutputCache(uint32_t num_nodes, const JobForwarding& forwarding);

  void Add(const JobOutput& output);
  // Gives a puller that is new what is here for it: `from_now`, but for the
  // positions and which channels are closed, nothing.
  void Fill(bool from_now, Puller* puller) const;
  // Gives one that has resumed what follows its cursor.
  void Refill(Puller* puller) const;

  uint64_t size() const { return size_; }
  uint32_t num_nodes() const { return static_cast<uint32_t>(seen_.size()); }

 private:
  using Channel = std::pair<Rank, uint16_t>;

  void Drop(const JobOutput& output, uint64_t bytes);
  void DropOldest();

  const uint64_t limit_;
  const bool keeps_oldest_;
  std::deque<JobOutput> kept_;
  uint64_t size_ = 0;
  std::vector<uint64_t> seen_;           // of each node's output
  std::map<Channel, uint64_t> dropped_;  // bytes
  uint64_t missed_ = 0;  // bytes of any channel that another agent has had
  std::map<Channel, uint32_t> closed_;  // with the node
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_IOF_OUTPUT_CACHE_H_
