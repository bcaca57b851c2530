// Requests that an agent has refused. A request may arrive twice, because its
// sender repeats it while the answer is in flight. The second request must not
// be executed, even if it could be executed by then, because the process has
// received the refusal.
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

// Maximum number of refusals that are kept (the latest ones), and the time for
// which they are kept. The time is longer than a message can be in flight,
// because a link that does not return loses its messages.
inline constexpr size_t kRefusalsKept = 1024;
inline constexpr TimeNs kRefusalKept = 60'000'000'000;

// Not synchronised.
class Refusals {
 public:
  void Add(TimeNs now, const HostRequest& request, int status);
  // Returns the status of the refusal; kSuccess if no refusal is known.
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
