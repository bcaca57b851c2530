// Which signals of job control the processes of this node have had, so that a
// request that comes again is not executed again.
#ifndef CANOPY_SERVER_CORE_HOST_CONTROL_RECORDS_H_
#define CANOPY_SERVER_CORE_HOST_CONTROL_RECORDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// A request: who asks, and its own number.
struct ControlId {
  ProcId proc;
  uint64_t request = 0;

  auto operator<=>(const ControlId&) const = default;
};

// So many requests of a job are kept: the latest.
inline constexpr size_t kControlsKept = 1024;

// Not synchronised.
class ControlRecords {
 public:
  bool Contains(const std::string& nspace, const ControlId& id) const;
  // A new one: what a successor is to have, before it is executed.
  PersistRecord Add(const std::string& nspace, const ControlId& id);
  // A record of a predecessor's journal; of another kind or malformed: no
  // effect.
  void Recover(const std::string& nspace, const PersistedRecord& record);
  void OnJobRemoved(const std::string& nspace) { jobs_.erase(nspace); }

 private:
  struct Ring {
    uint64_t count = 0;  // of all so far
    std::vector<ControlId>
        executed;  // the place of the n-th: n % kControlsKept
  };
  static void Put(uint64_t number, const ControlId& id, Ring* ring);

  std::map<std::string, Ring> jobs_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_HOST_CONTROL_RECORDS_H_
