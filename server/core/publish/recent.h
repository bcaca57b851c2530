// A bounded set of the digests of recent events.
#ifndef CANOPY_SERVER_CORE_PUBLISH_RECENT_H_
#define CANOPY_SERVER_CORE_PUBLISH_RECENT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace canopy::core {

// Remembers nearly all of the last 4096 digests that were added. Memory is
// allocated at the first use and does not grow. A digest that was not added is
// reported as contained with probability about 2^-50. Used by one thread.
class Recent {
 public:
  void Add(uint64_t digest) {
    if (buckets_.empty()) buckets_.resize(kBuckets);
    if (Contains(digest)) return;
    Bucket& bucket = buckets_[digest % kBuckets];
    bucket.digests[bucket.next++ % kBucketSize] = digest | kUsed;
  }
  bool Contains(uint64_t digest) const {
    if (buckets_.empty()) return false;
    const Bucket& bucket = buckets_[digest % kBuckets];
    return std::ranges::find(bucket.digests, digest | kUsed) !=
           bucket.digests.end();
  }

 private:
  // A bucket keeps its last 16 digests. 4096 digests put 8 into each bucket on
  // average, and more than 16 into about one bucket in a hundred.
  static constexpr size_t kBuckets = 512;
  static constexpr size_t kBucketSize = 16;
  static constexpr uint64_t kUsed = uint64_t{1} << 63;

  struct Bucket {
    std::array<uint64_t, kBucketSize> digests{};
    uint32_t next = 0;
  };

  std::vector<Bucket> buckets_;  // empty until the first addition
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_RECENT_H_
