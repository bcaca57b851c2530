// The gets that an agent holds until they can be answered, indexed by
// everything that may answer or end them: target and key, client, deadline.
#ifndef CANOPY_SERVER_CORE_MODEX_HELD_GETS_H_
#define CANOPY_SERVER_CORE_MODEX_HELD_GETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/step/client_id.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// A get of a local client or of another agent.
struct HeldGet {
  ProcId target;
  std::string key;
  // The agent that has sent the get; kNoNode for a local client.
  NodeId node = kNoNode;
  ClientId client = 0;
  uint64_t request = 0;
  bool immediate = false;
  bool refresh = false;  // fetch from the target's agent once, then answer
  bool fetched = false;  // the target's agent has answered
  uint64_t known = 0;    // version that the requesting agent has
  TimeNs started = 0;
  TimeNs deadline = kNever;
  TimeNs since = 0;  // time from which the deadline counts
  // The job of the client; for another agent's get, that of the target.
  std::string job = {};
  // The namespace of the process that makes the get, and its user
  // (JobTable::UserSeenBy); for another agent's get, as that agent claims.
  std::string reader = {};
  std::optional<uint32_t> uid = {};
};

// Each get has a number that is never reused. Lists of numbers ascend, so gets
// are answered in the order of their arrival. Used by one thread.
class HeldGets {
 public:
  // Adds a get, and returns its number.
  uint64_t Add(HeldGet get);
  // Drops the get. Does nothing if no get has this number.
  void Drop(uint64_t id);
  // Postpones the deadline, which counts from `now` on.
  void PutOff(uint64_t id, TimeNs now, TimeNs deadline);
  // Returns the get; null if there is no such get. The pointer is valid until
  // the get is dropped; only `fetched` may be changed.
  HeldGet* Find(uint64_t id);
  const std::map<uint64_t, HeldGet>& all() const { return all_; }
  size_t size() const { return all_.size(); }

  // Returns the gets of a target with one key. The cost depends on their
  // number, not on the number of all gets.
  std::vector<uint64_t> Of(const ProcId& target, std::string_view key) const;
  std::vector<uint64_t> OfTarget(const ProcId& target) const;
  bool HasTarget(const ProcId& target) const {
    return by_target_.contains(target);
  }
  std::vector<uint64_t> OfJob(const std::string& nspace) const;
  // Returns the gets of a local client.
  std::vector<uint64_t> OfClient(ClientId client) const;
  size_t NumOfClient(ClientId client) const;
  size_t NumOfJob(const std::string& job) const;
  // Returns the local clients with a held get, ascending.
  std::vector<ClientId> Clients() const;

  TimeNs NextDeadline() const;
  // Returns the get whose deadline expired first; 0 if no deadline is <= `now`.
  uint64_t FirstExpired(TimeNs now) const;

 private:
  using Ids = std::set<uint64_t>;
  using ByKey = std::map<std::string, Ids, std::less<>>;

  std::map<uint64_t, HeldGet> all_;
  std::map<ProcId, ByKey> by_target_;
  std::map<ClientId, Ids> by_client_;
  std::unordered_map<std::string, size_t> num_of_job_;
  std::set<std::pair<TimeNs, uint64_t>> deadlines_;
  uint64_t next_ = 1;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_HELD_GETS_H_
