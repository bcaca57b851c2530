// Records which signals of job control the processes of this node have
// received, so that a repeated request is not executed twice.
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

// Identifies a request: the process that makes it, and the number of the
// request (server/core/request_number.h).
struct ControlId {
  ProcId proc;
  uint64_t request = 0;

  auto operator<=>(const ControlId&) const = default;
};

// Maximum number of requests kept for each job; the latest ones are kept.
inline constexpr size_t kControlsKept = 1024;

// Not synchronised.
class ControlRecords {
 public:
  bool Contains(const std::string& nspace, const ControlId& id) const;
  // Adds a request that the records do not contain yet. Returns the record,
  // which must be persisted before the request is executed.
  PersistRecord Add(const std::string& nspace, const ControlId& id);
  // Restores a record of a predecessor's journal. Ignores malformed records and
  // records of other types.
  void Recover(const std::string& nspace, const PersistedRecord& record);
  void OnJobRemoved(const std::string& nspace) { jobs_.erase(nspace); }

 private:
  struct Ring {
    uint64_t count = 0;  // number of all requests so far
    std::vector<ControlId>
        executed;  // the n-th request is at n % kControlsKept
  };
  static void Put(uint64_t number, const ControlId& id, Ring* ring);

  std::map<std::string, Ring> jobs_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_HOST_CONTROL_RECORDS_H_
