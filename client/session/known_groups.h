// The process groups that this process has become a member of, and of whom they
// were made: its part in a group's end names them again.
#ifndef CANOPY_CLIENT_SESSION_KNOWN_GROUPS_H_
#define CANOPY_CLIENT_SESSION_KNOWN_GROUPS_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "pmix.h"

namespace canopy::client {

// Thread-safe.
class KnownGroups {
 public:
  void Add(std::string_view name, std::vector<pmix_proc_t> participants) {
    const MutexLock lock(mu_);
    groups_.insert_or_assign(std::string(name), std::move(participants));
  }
  // Empty when there is none of that name.
  std::vector<pmix_proc_t> Find(std::string_view name) const {
    const MutexLock lock(mu_);
    const auto it = groups_.find(name);
    return it == groups_.end() ? std::vector<pmix_proc_t>() : it->second;
  }
  void Remove(std::string_view name) {
    const MutexLock lock(mu_);
    const auto it = groups_.find(name);
    if (it != groups_.end()) groups_.erase(it);
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, std::vector<pmix_proc_t>, std::less<>> groups_
      CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_KNOWN_GROUPS_H_
