// How many collectives of each series have ended for this process, from which a
// successor agent derives which one is next.
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
  // A fence over the whole job ended in shared memory.
  void AddWhole() { whole_.fetch_add(1, std::memory_order_relaxed); }
  // A request (the payload of kCollective) was answered. A refusal counts for
  // nothing.
  void Add(std::string_view request, int status);
  // The same of the payload of kGroup.
  void AddGroup(std::string_view request, int status);
  // Of kGroupCall: who leaves a group has its end behind it. That is over for
  // all, and counted, when the group is constructed again.
  void AddGroupCall(std::string_view request, int status);
  // Payload of kReattach; empty when there was none.
  std::string Encode(const std::string& own_nspace) const;

 private:
  std::atomic<uint64_t> whole_{0};
  // By the beginning of the request, which identifies the series as the caller
  // named it.
  using Counts = std::map<std::string, uint64_t, std::less<>>;

  void Count(std::string_view request, bool is_group, int status,
             Counts* counts) CANOPY_REQUIRES(mu_);
  void NoteConstruct(std::string_view request) CANOPY_REQUIRES(mu_);

  mutable Mutex mu_;
  Counts ended_ CANOPY_GUARDED_BY(mu_);
  Counts groups_ CANOPY_GUARDED_BY(mu_);
  // Series of the ends of groups: by name, those that were constructed; and
  // those that the process has left since their last construction.
  std::map<std::string, std::string, std::less<>> ends_ CANOPY_GUARDED_BY(mu_);
  std::set<std::string> left_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_COLLECTIVE_COUNTS_H_
