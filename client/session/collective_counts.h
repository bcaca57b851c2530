// Counts the collectives of each series that have ended for this process. A
// successor agent derives from the counts which collective is next.
#ifndef CANOPY_CLIENT_SESSION_COLLECTIVE_COUNTS_H_
#define CANOPY_CLIENT_SESSION_COLLECTIVE_COUNTS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/mutex.h"

namespace canopy::client {

// Thread-safe.
class CollectiveCounts {
 public:
  // Counts a fence over the whole job that ended in shared memory.
  void AddWhole() { whole_.fetch_add(1, std::memory_order_relaxed); }
  // Counts an answered request, given the payload of kCollective. A refused
  // request does not count.
  void Add(std::string_view request, int status);
  // Records an answered call, given the payload of kGroupCall. After a process
  // has left a group, its destruct of the group is over. The destruct is
  // counted when the group is constructed again.
  void AddGroupCall(std::string_view request, int status);
  // Returns the payload of kReattach, which is empty if no collective was
  // counted.
  std::string Encode(const std::string& own_nspace) const;

 private:
  void NoteConstruct(std::string_view encoded) CANOPY_REQUIRES(mu_);

  std::atomic<uint64_t> whole_{0};
  mutable Mutex mu_;
  // The key is the encoded series as the caller has named it.
  std::map<std::string, uint64_t, std::less<>> ended_ CANOPY_GUARDED_BY(mu_);
  // `ends_` has the series of the destruct of each constructed group, by the
  // group's name. `left_` has the series of the destruct of each group that the
  // process has left since the last construct of the group.
  std::map<std::string, std::string, std::less<>> ends_ CANOPY_GUARDED_BY(mu_);
  std::set<std::string> left_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_COLLECTIVE_COUNTS_H_
