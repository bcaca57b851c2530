// Requests that an agent has refused. A request may come twice: its sender asks
// again while the answer is on its way. The second is not to be done, although
// it could be by then, since the process has been told that it is not.
#ifndef CANOPY_SERVER_CORE_HOST_REFUSALS_H_
#define CANOPY_SERVER_CORE_HOST_REFUSALS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// So many are known, the latest, and for so long: longer than a message is on
// its way, which is lost with a link that does not come back.
inline constexpr size_t kRefusalsKept = 1024;
inline constexpr TimeNs kRefusalKept = 60'000'000'000;

// Not synchronised.
class Refusals {
 public:
  void Add(TimeNs now, const HostRequest& request, int status);
  // With what it was refused; kSuccess: it was not, as far as is known.
  int StatusOf(TimeNs now, const HostRequest& request) const;

 private:
  struct Key {
    ProcId proc;
    uint64_t request = 0;
    std::string nspace;
    auto operator<=>(const Key&) const = default;
  };
  struct Refusal {
    int status = 0;
    TimeNs until = 0;
  };

  static Key KeyOf(const HostRequest& request) {
    return {request.proc, request.request, request.nspace};
  }

  std::map<Key, Refusal> refusals_;
  std::deque<Key> order_;  // oldest first
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_HOST_REFUSALS_H_
