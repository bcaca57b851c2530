// What happened not long ago.
#ifndef CANOPY_SERVER_CORE_PUBLISH_RECENT_H_
#define CANOPY_SERVER_CORE_PUBLISH_RECENT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace canopy::core {

// Nearly all of the last 4096 that were added, each as a digest: a few bytes of
// each, and all of them at the first, so that an agent does not grow with what
// it has seen. What was not added is contained once in 2^50 times.
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
  // A bucket has the last of its digests. With 4096 of them 8 are expected in
  // each, and more than 16 in one of a hundred.
  static constexpr size_t kBuckets = 512;
  static constexpr size_t kBucketSize = 16;
  static constexpr uint64_t kUsed = uint64_t{1} << 63;

  struct Bucket {
    std::array<uint64_t, kBucketSize> digests{};
    uint32_t next = 0;
  };

  std::vector<Bucket> buckets_;  // none before the first is added
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_RECENT_H_
