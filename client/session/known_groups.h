// The process groups that this process has become a member of.
#ifndef CANOPY_CLIENT_SESSION_KNOWN_GROUPS_H_
#define CANOPY_CLIENT_SESSION_KNOWN_GROUPS_H_

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/mutex.h"
#include "pmix.h"

namespace canopy::client {

struct KnownGroup {
  // The participants as the construct has named them, because the destruct must
  // name them in the same way. Empty if the agent keeps them.
  std::vector<pmix_proc_t> participants;
  // Members at the construct, in ascending order, in the form of PMIx_Get,
  // because a text for each would be an allocation of its own.
  std::vector<pmix_proc_t> members;
};

// The groups by name. Thread-safe.
class KnownGroups {
 public:
  // Adds a group or replaces the group of that name.
  void Add(std::string_view name, KnownGroup group) {
    const MutexLock lock(mu_);
    groups_.insert_or_assign(std::string(name), std::move(group));
    any_ = true;
  }
  void Remove(std::string_view name) {
    const MutexLock lock(mu_);
    const auto it = groups_.find(name);
    if (it != groups_.end()) groups_.erase(it);
    any_ = !groups_.empty();
  }

  bool any() const { return any_; }
  bool Has(std::string_view name) const {
    if (!any()) return false;
    const MutexLock lock(mu_);
    return groups_.contains(name);
  }
  // Returns an empty list if there is no group of that name.
  std::vector<pmix_proc_t> ParticipantsOf(std::string_view name) const {
    const MutexLock lock(mu_);
    const auto it = groups_.find(name);
    return it == groups_.end() ? std::vector<pmix_proc_t>()
                               : it->second.participants;
  }
  // Returns the member with this rank in the group: its place among the
  // members. Returns no value if there is none.
  std::optional<pmix_proc_t> MemberAt(std::string_view name, Rank rank) const {
    const MutexLock lock(mu_);
    const auto it = groups_.find(name);
    if (it == groups_.end() || rank >= it->second.members.size()) {
      return std::nullopt;
    }
    return it->second.members[rank];
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, KnownGroup, std::less<>> groups_ CANOPY_GUARDED_BY(mu_);
  std::atomic<bool> any_ = false;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_KNOWN_GROUPS_H_
