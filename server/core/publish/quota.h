// Limits on the publications of jobs and users.
#ifndef CANOPY_SERVER_CORE_PUBLISH_QUOTA_H_
#define CANOPY_SERVER_CORE_PUBLISH_QUOTA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "server/core/messages.h"

namespace canopy::core {

// Each agent applies these limits twice: to the publications of its own
// processes, and to the keys that it owns.
inline constexpr size_t kMaxKeysOfJob = size_t{1} << 16;
inline constexpr size_t kMaxBytesOfJob = size_t{64} << 20;
inline constexpr size_t kMaxKeysOfUser = 4 * kMaxKeysOfJob;
inline constexpr size_t kMaxBytesOfUser = 4 * kMaxBytesOfJob;

// Counts the publications of each job and each user. Not synchronised.
class PublishQuota {
 public:
  // Returns false if the publication would exceed a limit of its job or its
  // user.
  bool Fits(const Publication& publication) const;
  void Add(const Publication& publication);
  // Removes a publication, which must have been added before.
  void Remove(const Publication& publication);

 private:
  struct Use {
    size_t keys = 0;
    size_t bytes = 0;
  };

  std::map<std::string, Use> jobs_;
  std::map<uint32_t, Use> users_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_QUOTA_H_
