// The recent output of a job, kept for pullers that arrive later.
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

// Limit, in bytes, of the caches of all jobs of one controller together. A
// cache of kLeastCache is allowed beyond it.
inline constexpr uint64_t kAllCaches = uint64_t{1} << 30;
// The size that each cache may have, whatever the others have.
inline constexpr uint64_t kLeastCache = uint64_t{64} << 10;

// The cache belongs to the job's controller. Its size is bounded: beyond the
// limit the oldest output is dropped, or the newest if the job requested to
// keep the oldest. Not synchronised.
class OutputCache {
 public:
  // `free` is the part of kAllCaches that other jobs' caches leave. The cache
  // may have half of it, so that the rest is free for further jobs.
  OutputCache(uint32_t num_nodes, const JobForwarding& forwarding,
              uint64_t free = kAllCaches);

  void Add(const JobOutput& output);
  // Adds to a new puller the cached output that it has selected. With
  // `from_now`, adds only the positions and the closed channels.
  void Fill(bool from_now, Puller* puller) const;
  // Adds to a resumed puller the output that follows its cursor.
  void Refill(Puller* puller) const;

  uint64_t size() const { return size_; }
  uint64_t limit() const { return limit_; }
  uint32_t num_nodes() const { return static_cast<uint32_t>(seen_.size()); }

 private:
  using Channel = std::pair<Rank, uint16_t>;

  void Drop(const JobOutput& output, uint64_t bytes);
  void DropOldest();

  const uint64_t limit_;
  const bool keeps_oldest_;
  std::deque<JobOutput> kept_;
  uint64_t size_ = 0;
  std::vector<uint64_t> seen_;           // end position in each node's output
  std::map<Channel, uint64_t> dropped_;  // bytes
  // Bytes that only an earlier controller received, of any channel.
  uint64_t missed_ = 0;
  std::map<Channel, uint32_t> closed_;  // the value is the node of the rank
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_IOF_OUTPUT_CACHE_H_
